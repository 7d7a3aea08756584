import { badRequest } from '../domain/errors.ts'
import { ByteCursor } from './byte-cursor.ts'
import { unpickle } from './pickle.ts'
import type { PickleValue } from './pickle-value.ts'
import { showName } from './shape.ts'
import { readExactly, readU64, viewOf } from './sources.ts'
import { torchHost } from './torch-globals.ts'
import type { TorchStorage } from './torch-objects.ts'
import { findWeights, placeTensor, type StoragePlace } from './torch-weights.ts'
import type { ByteSource, TensorPlaces } from './weight-file.ts'

/** torch.serialization.MAGIC_NUMBER, 0x1950a86a20f9469cfc6c, as encoded by LONG1. */
const MAGIC = [0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19]
const MAGIC_NUMBER = 0x1950a86a20f9469cfc6cn
const PROTOCOL_VERSION = 1001

/** True if the first pickle holds only the magic number; from protocol 4 on, a frame precedes it. */
export const startsLikeTorchLegacy = (head: Uint8Array): boolean =>
  head[0] === 0x80 && [2, 11].some((at) => MAGIC.every((byte, i) => head[at + i] === byte))

/**
 * Reads the PyTorch format from before 1.6 (`_use_new_zipfile_serialization=False`): pickles of a magic number, a protocol
 * version, system information, the object, and the storage keys, then each storage as an element count and its bytes. Throws
 * bad_request naming the tensor or the global.
 */
export const readTorchLegacy = (source: ByteSource): TensorPlaces => {
  const cursor = new ByteCursor(source, 0, source.size, 'The PyTorch file')
  const host = torchHost()
  const storages = new Map<string, TorchStorage>()
  const next = (): PickleValue => unpickle(cursor, host)
  if (next() !== MAGIC_NUMBER || next() !== PROTOCOL_VERSION)
    throw badRequest('The PyTorch file is of an unknown version. Save it again with a current torch.save.')
  // Storage data is always little-endian; the system information describes the machine that wrote the file.
  next()
  const root = unpickle(cursor, {
    ...host,
    persistent: (id) => {
      const storage = host.persistent(id) as TorchStorage
      if (!storages.has(storage.key)) storages.set(storage.key, storage)
      return storage
    },
  })
  const keys = next()
  if (!Array.isArray(keys)) throw badRequest('The PyTorch file has no list of storages after its pickle.')

  const places = new Map<string, StoragePlace>()
  let at = cursor.position
  for (const key of keys) {
    const storage = typeof key === 'string' ? storages.get(key) : undefined
    if (storage === undefined || places.has(storage.key))
      throw badRequest(
        `The PyTorch file lists storage ${showName(String(key))}, which is not used by a tensor or is listed twice.`,
      )
    const elements = readU64(viewOf(readExactly(source, at, 8, `storage ${showName(storage.key)}`)), 0)
    const size = elements * storage.type.bytes
    if (elements !== storage.elements || at + 8 + size > source.size)
      throw badRequest(
        `Storage ${showName(storage.key)} should have ${storage.elements} elements; it claims ${elements}, ` +
          `and ${source.size - at - 8} bytes follow. Send the whole file again.`,
      )
    places.set(storage.key, { byteOffset: at + 8, size })
    at += 8 + size
  }
  if (at !== source.size) throw badRequest(`The PyTorch file has ${source.size - at} bytes after its last storage.`)
  const tensors = findWeights(root).map((named) => placeTensor(named, places, false))
  return { tensors, members: [] }
}
