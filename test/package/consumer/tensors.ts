import { bytesSource, encodeElements, readTensorFloats, readWeights, writeSafetensors } from 'tributary/tensors'

/** Returns a safetensors file with one float32 vector, `w`. */
export const fileOf = (values: readonly number[]): Uint8Array =>
  writeSafetensors([{ name: 'w', dtype: 'f32', shape: [values.length], data: encodeElements(values, 'f32') }])

export const valuesIn = (file: Uint8Array): Record<string, number[]> => {
  const source = bytesSource(file)
  const { tensors } = readWeights(source)
  return Object.fromEntries(tensors.map((tensor) => [tensor.name, [...readTensorFloats(source, tensor)]]))
}
