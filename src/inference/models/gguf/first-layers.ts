import { open, rename, rm } from 'node:fs/promises'
import { InferenceError } from '../../errors.ts'
import { padded } from './container.ts'
import { type GgufHeader, readGgufHeader } from './header.ts'
import type { MetadataEntry } from './metadata.ts'
import { blockOf } from './tensors.ts'
import { startBytes, tensorBytes } from './write-header.ts'

const CHUNK = 1 << 20

type File = Awaited<ReturnType<typeof open>>

/**
 * Writes the model in `source` to `target` with only its first `blocks` blocks (and its embedding, norm, and output): a draft
 * for the whole model that needs no download. `target` appears once it is complete.
 * @throws InferenceError invalid_model for a source that is broken or cannot be cut there
 */
export const writeFirstLayers = async (source: string, target: string, blocks: number): Promise<void> => {
  const header = await readGgufHeader(source)
  if (!Number.isInteger(blocks) || blocks < 1 || blocks > header.blocks)
    throw new InferenceError(
      'invalid_model',
      `'${source}' has ${header.blocks} blocks, so its first ${blocks} cannot be taken.`,
    )
  if (header.files > 1)
    throw new InferenceError('invalid_model', `'${source}' is split into ${header.files} files. Merge them first.`)
  const part = `${target}.${process.pid}.part`
  const from = await open(source, 'r')
  try {
    const to = await open(part, 'w')
    try {
      await write(header, from, to, blocks)
      await to.sync()
    } finally {
      await to.close()
    }
    await rename(part, target)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  } finally {
    await from.close()
  }
}

const write = async (header: GgufHeader, from: File, to: File, blocks: number): Promise<void> => {
  const kept = header.tensors.filter(({ name }) => (blockOf(name) ?? 0) < blocks)
  const pieces: Buffer[] = [startBytes(kept.length, header.metadata.size)]
  for (const entry of header.metadata.values()) pieces.push(await metadataBytes(header, from, entry, blocks))
  let offset = 0
  for (const tensor of kept) {
    pieces.push(tensorBytes(tensor, offset))
    offset += padded(tensor.bytes, header.alignment)
  }
  const head = Buffer.concat(pieces)
  await to.write(head)
  let position = await pad(to, head.length, header.alignment)
  for (const tensor of kept) {
    await copy(from, header.dataStart + tensor.offset, to, position, tensor.bytes)
    position = await pad(to, position + tensor.bytes, header.alignment)
  }
}

/** Copies an entry from the source, except that the block count and arrays with one element per block are adapted. */
const metadataBytes = async (
  { architecture, blocks: all }: GgufHeader,
  from: File,
  entry: MetadataEntry,
  blocks: number,
): Promise<Buffer> => {
  const bytes = await read(from, entry.start, entry.end - entry.start)
  const value = entry.valueStart - entry.start
  if (entry.key === `${architecture}.block_count`) bytes.writeUInt32LE(blocks, value)
  // The blocks that predict further tokens are the last ones, so they are dropped.
  if (entry.key === `${architecture}.nextn_predict_layers`) bytes.writeUInt32LE(0, value)
  const perBlock = entry.key.startsWith(`${architecture}.`) && entry.itemType !== null && entry.length === all
  if (!perBlock || entry.itemType === 'string') return bytes
  bytes.writeBigUInt64LE(BigInt(blocks), value - 8)
  return bytes.subarray(0, value + ((entry.end - entry.valueStart) / all) * blocks)
}

const pad = async (to: File, position: number, alignment: number): Promise<number> => {
  const missing = padded(position, alignment) - position
  if (missing > 0) await to.write(Buffer.alloc(missing), 0, missing, position)
  return position + missing
}

const copy = async (from: File, source: number, to: File, target: number, length: number): Promise<void> => {
  for (let done = 0; done < length; done += CHUNK) {
    const bytes = await read(from, source + done, Math.min(CHUNK, length - done))
    await to.write(bytes, 0, bytes.length, target + done)
  }
}

const read = async (from: File, position: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(length)
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await from.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new InferenceError('invalid_model', 'The model file became shorter while it was read.')
    filled += bytesRead
  }
  return bytes
}
