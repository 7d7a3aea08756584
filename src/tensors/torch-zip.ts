import { badRequest } from '../domain/errors.ts'
import { ByteCursor } from './byte-cursor.ts'
import { unpickle } from './pickle.ts'
import { showName } from './shape.ts'
import { readExactly } from './sources.ts'
import { torchHost } from './torch-globals.ts'
import { findWeights, placeTensor, type StoragePlace } from './torch-weights.ts'
import type { ByteSource, TensorPlaces, ZipMember } from './weight-file.ts'
import type { ZipEntry } from './zip.ts'

/** Finds the member that identifies a PyTorch file: `<archive>/data.pkl`. */
export const findTorchPickle = (entries: readonly { readonly name: string }[]): string | undefined =>
  entries.find(({ name }) => /^[^/]+\/data\.pkl$/.test(name))?.name

/** The member that identifies an exported program of PyTorch 2.7 and earlier. */
export const OLD_PROGRAM = 'serialized_exported_program.json'

/** True if the members of a zip archive are those of torch.export.save. */
export const looksExported = (names: readonly string[]): boolean =>
  names.includes(OLD_PROGRAM) ||
  (names.some((name) => /^([^/]+\/)?archive_format$/.test(name)) &&
    names.some((name) => /^([^/]+\/)?models\/[^/]+\.json$/.test(name)))

const stored = (entry: ZipEntry): ZipEntry => {
  if (entry.method === 'stored') return entry
  throw badRequest(
    `Member ${showName(entry.name)} of the PyTorch file is compressed. torch.save does not compress: send its file as it is.`,
  )
}

const isBigEndian = (source: ByteSource, entry: ZipEntry | undefined): boolean => {
  if (entry === undefined) return false
  const order = new TextDecoder().decode(
    readExactly(source, stored(entry).dataOffset, Math.min(entry.size, 16), 'byteorder'),
  )
  if (order.trim() !== 'little' && order.trim() !== 'big')
    throw badRequest(`The PyTorch file names an unknown byte order: ${showName(order)}.`)
  return order.trim() === 'big'
}

/**
 * Reads PyTorch's zip format (torch.save since 1.6): a pickle that describes the tensors, and one stored member per storage.
 * The pickle is parsed, never executed. Throws bad_request naming the tensor or the global.
 */
export const readTorchZip = (source: ByteSource, entries: readonly ZipEntry[]): TensorPlaces => {
  const pickleName = findTorchPickle(entries)
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  const pickle = byName.get(pickleName ?? '')
  if (pickle === undefined) throw badRequest('The PyTorch file has no data.pkl.')
  const archive = pickle.name.slice(0, -'data.pkl'.length)
  const { dataOffset, size } = stored(pickle)
  const cursor = new ByteCursor(source, dataOffset, dataOffset + size, 'The pickle of the PyTorch file')
  const weights = findWeights(unpickle(cursor, torchHost()))

  const places = new Map<string, StoragePlace>()
  const members: ZipMember[] = []
  for (const { tensor } of weights) {
    const { key } = tensor.storage
    const entry = byName.get(`${archive}data/${key}`)
    if (entry === undefined || places.has(key)) continue
    const { name, dataOffset: byteOffset, size: bytes, crcOffsets } = stored(entry)
    places.set(key, { byteOffset, size: bytes })
    members.push({ name, dataOffset: byteOffset, size: bytes, crcOffsets })
  }
  const bigEndian = isBigEndian(source, byName.get(`${archive}byteorder`))
  return { tensors: weights.map((named) => placeTensor(named, places, bigEndian)), members }
}
