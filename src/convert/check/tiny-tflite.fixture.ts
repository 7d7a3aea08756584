import { Builder } from 'flatbuffers'

const vectorOf = (builder: Builder, offsets: readonly number[]): number => {
  builder.startVector(4, offsets.length, 4)
  for (const offset of [...offsets].reverse()) builder.addOffset(offset)
  return builder.endVector()
}

const integers = (builder: Builder, values: readonly number[]): number => {
  builder.startVector(4, values.length, 4)
  for (const value of [...values].reverse()) builder.addInt32(value)
  return builder.endVector()
}

/** `y = relu(x W + b)` for x of [1, 4] and y of [1, 3], as FULLY_CONNECTED; with a custom operator behind it where one is named. */
export const tinyTflite = (custom: string | null = null): Uint8Array => {
  const builder = new Builder(1024)
  const table = (fields: number, fill: () => void): number => {
    builder.startObject(fields)
    fill()
    return builder.endObject()
  }
  const buffers = [0, 48, 12].map((size) => {
    const data = size === 0 ? 0 : builder.createByteVector(new Uint8Array(size))
    return table(3, () => size > 0 && builder.addFieldOffset(0, data, 0))
  })
  const shapes: readonly (readonly [readonly number[], number])[] = [
    [[1, 4], 0],
    [[3, 4], 1],
    [[3], 2],
    [[1, 3], 0],
    [[1, 3], 0],
  ]
  const tensors = shapes.map(([shape, buffer]) => {
    const sizes = integers(builder, shape)
    return table(4, () => {
      builder.addFieldOffset(0, sizes, 0)
      builder.addFieldInt32(2, buffer, 0)
    })
  })
  const operator = (code: number, inputs: readonly number[], outputs: readonly number[]): number => {
    const [from, to] = [integers(builder, inputs), integers(builder, outputs)]
    return table(3, () => {
      builder.addFieldInt32(0, code, 0)
      builder.addFieldOffset(1, from, 0)
      builder.addFieldOffset(2, to, 0)
    })
  }
  const name = builder.createString(custom ?? '')
  const codes = [9, ...(custom === null ? [] : [32])].map((code) =>
    table(4, () => {
      builder.addFieldInt8(0, code, 0)
      if (code === 32) builder.addFieldOffset(1, name, 0)
    }),
  )
  const operators = [operator(0, [0, 1, 2], [3]), ...(custom === null ? [] : [operator(1, [3], [4])])]
  const parts = [
    vectorOf(builder, tensors),
    integers(builder, [0]),
    integers(builder, [custom === null ? 3 : 4]),
    vectorOf(builder, operators),
  ]
  const graph = table(5, () => {
    for (const [field, part] of parts.entries()) builder.addFieldOffset(field, part, 0)
  })
  const [codeList, graphs, bufferList] = [
    vectorOf(builder, codes),
    vectorOf(builder, [graph]),
    vectorOf(builder, buffers),
  ]
  const model = table(5, () => {
    builder.addFieldInt32(0, 3, 0)
    builder.addFieldOffset(1, codeList, 0)
    builder.addFieldOffset(2, graphs, 0)
    builder.addFieldOffset(4, bufferList, 0)
  })
  builder.finish(model, 'TFL3')
  return builder.asUint8Array()
}
