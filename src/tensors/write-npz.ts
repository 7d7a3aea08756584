import { badRequest } from '../domain/errors.ts'
import { type ContainerPlan, fillPlan, type TensorData } from './container-plan.ts'
import { type Layout, type LayoutEntry, onlyTensor } from './layout.ts'
import { NUMPY_DTYPES } from './npy.ts'
import { requireSoundLayout, showName } from './shape.ts'
import { viewOf } from './sources.ts'
import { BYTES_OF, byteLength, directTensor } from './weight-file.ts'
import { planZip } from './zip-plan.ts'

const CODES = new Map([...NUMPY_DTYPES].map(([code, dtype]) => [dtype, code]))

/** The header that numpy.save writes, version 1.0, padded so that the elements begin at a multiple of 64. */
const npyHeader = ({ name, dtype, shape }: LayoutEntry): Uint8Array => {
  const code = CODES.get(dtype)
  if (code === undefined)
    throw badRequest(`Tensor ${showName(name)} is ${dtype}, which NumPy has no type for. Use safetensors or float32.`)
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const dict = `{'descr': '${BYTES_OF[dtype] === 1 ? '|' : '<'}${code}', 'fortran_order': False, 'shape': (${sizes}), }`
  const length = Math.ceil((10 + dict.length + 1) / 64) * 64
  const header = new TextEncoder().encode(`.NUMPY..##${dict.padEnd(length - 11)}\n`)
  header.set([0x93], 0)
  header.set([1, 0], 6)
  viewOf(header).setUint16(8, length - 10, true)
  return header
}

/** Plans a stored .npz of this layout. Throws bad_request for invalid layouts and for bf16, which NumPy lacks. */
export const planNpz = (layout: Layout): ContainerPlan => {
  requireSoundLayout(layout)
  const headers = layout.map(npyHeader)
  const { size, pieces, members } = planZip(
    layout.map((entry, i) => ({ name: `${entry.name}.npy`, start: headers[i]!, tail: byteLength(entry), align: 1 })),
  )
  const tensors = layout.map((entry, i) => directTensor(entry, members[i]!.dataOffset + headers[i]!.length))
  return { file: { tensors, members }, size, pieces }
}

/** Writes a whole .npz in memory, as numpy.savez does. Throws bad_request like planNpz. */
export const writeNpz = (tensors: readonly TensorData[]): Uint8Array<ArrayBuffer> => fillPlan(planNpz(tensors), tensors)

/** Plans a .npy file of one array. Throws bad_request for several, and for bf16, which NumPy lacks. */
export const planNpy = (layout: Layout): ContainerPlan => {
  const entry = onlyTensor(layout, 'A .npy file')
  requireSoundLayout([entry])
  const header = npyHeader(entry)
  return {
    file: { tensors: [directTensor(entry, header.length)], members: [] },
    size: header.length + byteLength(entry),
    pieces: [{ offset: 0, bytes: header }],
  }
}

/** Writes a whole .npy in memory. Throws bad_request like planNpy. */
export const writeNpy = (tensor: TensorData): Uint8Array<ArrayBuffer> => fillPlan(planNpy([tensor]), [tensor])
