import { badRequest } from '../domain/errors.ts'
import { type ContainerPlan, fillPlan, type TensorData } from './container-plan.ts'
import type { Layout } from './layout.ts'
import { requireSoundLayout } from './shape.ts'
import { viewOf } from './sources.ts'
import { BYTES_OF, byteLength, directTensor } from './weight-file.ts'

const METADATA = '__metadata__'

/**
 * Plans a safetensors file of this layout. Wider types come first, so that every tensor is aligned to its elements; the
 * header is padded with spaces to a multiple of 8, as the format requires. Throws bad_request for invalid layouts.
 */
export const planSafetensors = (layout: Layout, metadata: Readonly<Record<string, string>> = {}): ContainerPlan => {
  requireSoundLayout(layout)
  if (layout.some(({ name }) => name === METADATA))
    throw badRequest(`A safetensors file cannot contain a tensor named ${METADATA}. Rename it.`)
  const ordered = [...layout].sort((a, b) => BYTES_OF[b.dtype] - BYTES_OF[a.dtype])
  let end = 0
  const placed = ordered.map((entry) => {
    const begin = end
    end += byteLength(entry)
    return { ...entry, begin, end }
  })
  const described = placed.map(({ name, dtype, shape, begin, end: stop }) => [
    name,
    { dtype: dtype.toUpperCase(), shape, data_offsets: [begin, stop] },
  ])
  const entries = Object.keys(metadata).length > 0 ? [[METADATA, metadata], ...described] : described
  // Built by hand because an object would reorder names that look like numbers.
  const json = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
  const text = new TextEncoder().encode(json)
  const length = Math.ceil(text.length / 8) * 8
  const header = new Uint8Array(8 + length).fill(0x20)
  viewOf(header).setBigUint64(0, BigInt(length), true)
  header.set(text, 8)
  const tensors = placed.map((entry) => directTensor(entry, header.length + entry.begin))
  return {
    file: { tensors, members: [] },
    size: header.length + end,
    pieces: [{ offset: 0, bytes: header }],
  }
}

/** Writes a whole safetensors file in memory. Throws bad_request if a tensor's data does not match its shape and type. */
export const writeSafetensors = (
  tensors: readonly TensorData[],
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> => fillPlan(planSafetensors(tensors, metadata), tensors)
