import { badRequest } from '../domain/errors.ts'
import { damagedHdf5, type Hdf5File, type Hdf5Message, magicOf } from './hdf5-file.ts'
import { showName } from './shape.ts'
import { decodeText, readU64, viewOf } from './sources.ts'

/** A name in a group and the address of its object's header. */
export interface Hdf5Link {
  readonly name: string
  readonly address: number
}

const LINK_INFO = 0x02
const LINK = 0x06
const SYMBOL_TABLE = 0x11
const UNDEFINED = 2n ** 64n - 1n
const MAX_LEVEL = 32

const elsewhere = (name: string) =>
  badRequest(`Link ${showName(name)} of the HDF5 file points elsewhere (soft or external), which is not followed.`)

/** Returns a group's members; null if the messages are not a group's. Throws bad_request for soft and external links. */
export const linksIn = (file: Hdf5File, messages: readonly Hdf5Message[]): Hdf5Link[] | null => {
  const table = messages.find(({ type }) => type === SYMBOL_TABLE)
  if (table !== undefined) {
    if (table.bytes.length < 16) throw damagedHdf5('a group has no table of its members')
    return symbols(file, readU64(viewOf(table.bytes), 0), readU64(viewOf(table.bytes), 8))
  }
  const info = messages.find(({ type }) => type === LINK_INFO)
  if (info === undefined) return null
  const heapAt = 2 + (info.bytes[1]! & 1 ? 8 : 0)
  if (heapAt + 8 > info.bytes.length) throw damagedHdf5('a group does not describe its members')
  if (viewOf(info.bytes).getBigUint64(heapAt, true) !== UNDEFINED)
    throw badRequest(
      'The HDF5 file stores the members of a group in a form that is not supported (dense links). ' +
        "Write it without libver='latest' and track_order, as Keras and h5py do by default.",
    )
  return messages.filter(({ type }) => type === LINK).map(({ bytes }) => linkOf(bytes))
}

/** A link message (IV.A.2.g). */
const linkOf = (bytes: Uint8Array): Hdf5Link => {
  const flags = bytes[1]!
  let at = 2
  const isHard = (flags & 8) === 0 || bytes[at] === 0
  at += (flags & 8 ? 1 : 0) + (flags & 4 ? 8 : 0) + (flags & 0x10 ? 1 : 0)
  const lengthBytes = 1 << (flags & 3)
  const length = bytes.subarray(at, at + lengthBytes).reduce((sum, byte, i) => sum + byte * 256 ** i, 0)
  at += lengthBytes
  if (at + length + 8 > bytes.length) throw damagedHdf5('a link is too short')
  const name = decodeText(bytes.subarray(at, at + length), 'the name of an HDF5 object')
  if (!isHard) throw elsewhere(name)
  return { name, address: readU64(viewOf(bytes), at + length) }
}

/** Returns the members of an old-style group: a B-tree of symbol table nodes, and a heap of names (III.A to III.D). */
const symbols = (file: Hdf5File, treeAt: number, heapAt: number): Hdf5Link[] => {
  const heap = file.read(heapAt, 32, 'a heap of names')
  if (magicOf(heap) !== 'HEAP') throw damagedHdf5('a group has no heap of names')
  const names = file.read(readU64(viewOf(heap), 24), readU64(viewOf(heap), 8), 'a heap of names')
  const links: Hdf5Link[] = []
  const nameAt = (at: number): string => {
    const end = names.indexOf(0, at)
    if (at >= names.length || end < 0) throw damagedHdf5('a name lies outside its heap')
    return decodeText(names.subarray(at, end), 'the name of an HDF5 object')
  }
  const leaf = (address: number): void => {
    const head = file.read(address, 8, 'a node of names')
    if (magicOf(head) !== 'SNOD') throw damagedHdf5('a node of names is missing')
    const entries = file.read(address + 8, viewOf(head).getUint16(6, true) * 40, 'a node of names')
    const view = viewOf(entries)
    for (let at = 0; at < entries.length; at += 40) {
      const name = nameAt(readU64(view, at))
      if (view.getUint32(at + 16, true) === 2) throw elsewhere(name)
      links.push({ name, address: readU64(view, at + 8) })
    }
  }
  const node = (address: number, above: number): void => {
    const head = file.read(address, 24, 'a B-tree')
    const level = head[5]!
    if (magicOf(head) !== 'TREE' || head[4] !== 0 || level >= above) throw damagedHdf5('a B-tree is broken')
    const count = viewOf(head).getUint16(6, true)
    const children = viewOf(file.read(address + 24, count * 16 + 8, 'a B-tree'))
    for (let i = 0; i < count; i++) {
      const child = readU64(children, 8 + i * 16)
      if (level === 0) leaf(child)
      else node(child, level)
    }
  }
  node(treeAt, MAX_LEVEL)
  return links
}
