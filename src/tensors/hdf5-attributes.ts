import { badRequest } from '../domain/errors.ts'
import { damagedHdf5, Hdf5File, magicOf } from './hdf5-file.ts'
import { decodeText, readU64, viewOf } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

const ATTRIBUTE = 0x0c
const FIXED_TEXT = 3
const VARIABLE_LENGTH = 9

const padded = (size: number): number => Math.ceil(size / 8) * 8

interface Attribute {
  readonly name: string
  readonly kind: number
  readonly data: Uint8Array
}

/** An attribute message (IV.A.2.m), versions 1 to 3. */
const attributeOf = (bytes: Uint8Array): Attribute => {
  const version = bytes[0]!
  if (version < 1 || version > 3 || bytes.length < 9) throw damagedHdf5('an attribute cannot be read')
  const view = viewOf(bytes)
  const [nameSize, typeSize, spaceSize] = [2, 4, 6].map((at) => view.getUint16(at, true)) as [number, number, number]
  // Only version 1 pads fields to multiples of eight bytes.
  const filled = version === 1 ? padded : (size: number) => size
  const nameAt = version === 3 ? 9 : 8
  const typeAt = nameAt + filled(nameSize)
  const dataAt = typeAt + filled(typeSize) + filled(spaceSize)
  if (dataAt > bytes.length) throw damagedHdf5('an attribute is too short')
  const name = decodeText(bytes.subarray(nameAt, nameAt + nameSize), 'the name of an attribute').replace(/\0+$/, '')
  return { name, kind: bytes[typeAt]! & 15, data: bytes.subarray(dataAt) }
}

/** An object of a global heap (III.E). */
const heapObject = (file: Hdf5File, address: number, wanted: number): Uint8Array => {
  const head = file.read(address, 16, 'a heap')
  if (magicOf(head) !== 'GCOL') throw damagedHdf5('a heap is missing')
  const heap = file.read(address, readU64(viewOf(head), 8), 'a heap')
  const view = viewOf(heap)
  for (let at = 16; at + 16 <= heap.length; ) {
    const index = view.getUint16(at, true)
    const size = readU64(view, at + 8)
    if (index === 0) break
    if (at + 16 + size > heap.length) throw damagedHdf5('an object of a heap is too long')
    if (index === wanted) return heap.subarray(at + 16, at + 16 + size)
    at += 16 + padded(size)
  }
  throw damagedHdf5('an object of a heap is missing')
}

/** Returns a text attribute of the root group, or null if there is none with this name. Throws bad_request. */
export const readHdf5Text = (source: ByteSource, name: string): string | null => {
  const file = new Hdf5File(source)
  const found = file
    .messages(file.root())
    .flatMap(({ type, bytes }) => (type === ATTRIBUTE ? [attributeOf(bytes)] : []))
    .find((attribute) => attribute.name === name)
  if (found === undefined) return null
  const what = `the attribute '${name}'`
  if (found.kind === FIXED_TEXT) return decodeText(found.data, what).replace(/\0+$/, '')
  if (found.kind !== VARIABLE_LENGTH || found.data.length < 16) {
    throw badRequest(`The HDF5 file has ${what}, which is not text.`)
  }
  const view = viewOf(found.data)
  const object = heapObject(file, readU64(view, 4), view.getUint32(12, true))
  return decodeText(object.subarray(0, view.getUint32(0, true)), what)
}
