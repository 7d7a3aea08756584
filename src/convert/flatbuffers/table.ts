import { Builder } from 'flatbuffers'
import { badRequest, ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'

/**
 * FlatBuffers tables by name. A table lists its fields in slot order: `'shape:[i32] type:i8 name:string'`. A kind is a
 * scalar, `string`, `bytes` (aligned to 16), another table, a union, or one of these in brackets for a list. A union takes
 * two slots, and its value identifies the table. Fields absent in the file are absent in the value. Source:
 * flatbuffers.dev/internals.
 */
export interface FlatSchema {
  readonly tables: Readonly<Record<string, string>>
  /** The tables of each union, numbered from 1. */
  readonly unions: Readonly<Record<string, readonly string[]>>
}

export interface UnionValue {
  readonly table: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Field {
  readonly name: string
  readonly kind: string
  readonly list: boolean
  readonly slot: number
}

const SIZE: Readonly<Record<string, number>> = { bool: 1, i8: 1, u8: 1, i32: 4, u32: 4, f32: 4, i64: 8, u64: 8 }
const MAX_DEPTH = 16

const fieldsOf = (schema: FlatSchema, table: string): readonly Field[] => {
  const text = Object.hasOwn(schema.tables, table) ? schema.tables[table]! : ''
  let slot = 0
  return text
    .split(' ')
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', kind = ''] = part.split(':')
      const list = kind.startsWith('[')
      const field = { name, kind: list ? kind.slice(1, -1) : kind, list, slot }
      slot += Object.hasOwn(schema.unions, kind) ? 2 : 1
      return field
    })
}

const readScalar = (view: DataView, at: number, kind: string): number | boolean => {
  if (kind === 'bool') return view.getUint8(at) !== 0
  if (kind === 'i8') return view.getInt8(at)
  if (kind === 'u8') return view.getUint8(at)
  if (kind === 'i32') return view.getInt32(at, true)
  if (kind === 'u32') return view.getUint32(at, true)
  if (kind === 'f32') return view.getFloat32(at, true)
  return Number(kind === 'i64' ? view.getBigInt64(at, true) : view.getBigUint64(at, true))
}

/**
 * Reads the table at the start of a file. Bytes are views of the file. Throws bad_request if an offset is outside the file,
 * if tables are nested too deeply, or if shared parts add up to many times the file's size.
 */
export const readFlatbuffer = (schema: FlatSchema, root: string, bytes: Uint8Array): Record<string, unknown> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const memo = new Map<string, readonly Field[]>()
  let budget = 8 * bytes.length + 1024
  const spend = (amount: number) => {
    budget -= amount
    if (budget < 0) throw badRequest('The file refers to the same parts too often.')
  }
  const follow = (at: number) => at + view.getUint32(at, true)
  const lengthOf = (at: number, itemSize: number): number => {
    const length = view.getUint32(at, true)
    if (at + 4 + length * itemSize > bytes.length) throw badRequest('The file is cut off.')
    spend(length * itemSize)
    return length
  }
  const read = (at: number, kind: string, depth: number): unknown => {
    if (kind in SIZE) return readScalar(view, at, kind)
    const target = follow(at)
    if (kind === 'string' || kind === 'bytes') {
      const length = lengthOf(target, 1)
      const data = bytes.subarray(target + 4, target + 4 + length)
      return kind === 'bytes' ? data : new TextDecoder().decode(data)
    }
    return readTable(target, kind, depth + 1)
  }
  const readTable = (at: number, table: string, depth: number): Record<string, unknown> => {
    if (depth > MAX_DEPTH) throw badRequest('The file is nested too deeply.')
    spend(4)
    const vtable = at - view.getInt32(at, true)
    const slots = (view.getUint16(vtable, true) - 4) / 2
    const place = (slot: number) => (slot < slots ? view.getUint16(vtable + 4 + 2 * slot, true) : 0)
    if (!memo.has(table)) memo.set(table, fieldsOf(schema, table))
    const result: Record<string, unknown> = {}
    for (const { name, kind, list, slot } of memo.get(table)!) {
      const union = ownEntry(schema.unions, kind)
      const offset = place(union === undefined ? slot : slot + 1)
      if (offset === 0) continue
      const from = at + offset
      if (union !== undefined) {
        const number = place(slot) === 0 ? 0 : view.getUint8(at + place(slot))
        const member = union[number - 1]
        if (member === undefined) throw badRequest(`${table}.${name} is of kind ${number}, which is not supported.`)
        result[name] = { table: member, value: readTable(follow(from), member, depth + 1) }
      } else if (list) {
        const target = follow(from)
        const size = SIZE[kind] ?? 4
        const length = lengthOf(target, size)
        result[name] = Array.from({ length }, (_, index) => read(target + 4 + index * size, kind, depth))
      } else {
        result[name] = read(from, kind, depth)
      }
    }
    return result
  }
  try {
    return readTable(follow(0), root, 0)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw badRequest('The file is damaged: an offset points outside of it.')
  }
}

const addScalar = (builder: Builder, kind: string, value: unknown): void => {
  const number = Number(value)
  if (kind === 'i64' || kind === 'u64') builder.addInt64(BigInt(number))
  else if (kind === 'f32') builder.addFloat32(number)
  else if (SIZE[kind] === 1) builder.addInt8(number)
  else builder.addInt32(number)
}

const writeBytes = (builder: Builder, data: Uint8Array): number => {
  builder.prep(16, data.length)
  return builder.createByteVector(data)
}

/** Writes a table as a file with a four-letter identifier. Throws bad_request beyond 2 GB, the range of offsets. */
export const writeFlatbuffer = (
  schema: FlatSchema,
  root: string,
  identifier: string,
  value: Readonly<Record<string, unknown>>,
  expectedBytes: number,
): Uint8Array => {
  if (expectedBytes >= 2 ** 31 - 2 ** 20) throw badRequest('The file would be larger than the limit of 2 GB.')
  const builder = new Builder(expectedBytes)
  const writeItem = (kind: string, item: unknown): number => {
    if (kind === 'string') return builder.createString(item as string)
    if (kind === 'bytes') return writeBytes(builder, item as Uint8Array)
    return writeTable(kind, item as Record<string, unknown>)
  }
  const writeList = (kind: string, items: readonly unknown[]): number => {
    const size = SIZE[kind]
    const offsets = size === undefined ? items.map((item) => writeItem(kind, item)) : []
    builder.startVector(size ?? 4, items.length, size ?? 4)
    for (let at = items.length - 1; at >= 0; at--) {
      if (size === undefined) builder.addOffset(offsets[at]!)
      else addScalar(builder, kind, items[at])
    }
    return builder.endVector()
  }
  const writeTable = (table: string, fields: Readonly<Record<string, unknown>>): number => {
    const present = fieldsOf(schema, table).filter(({ name }) => fields[name] !== undefined)
    const offsets = new Map<Field, number>()
    for (const field of present) {
      const item = fields[field.name]
      if (field.kind in SIZE && !field.list) continue
      const union = Object.hasOwn(schema.unions, field.kind) ? (item as UnionValue) : undefined
      if (union !== undefined) offsets.set(field, writeTable(union.table, union.value))
      else offsets.set(field, field.list ? writeList(field.kind, item as unknown[]) : writeItem(field.kind, item))
    }
    builder.startObject(Math.max(0, ...present.map(({ slot }) => slot + 2)))
    for (const field of present) {
      const offset = offsets.get(field)
      if (offset === undefined) {
        addScalar(builder, field.kind, fields[field.name])
        builder.slot(field.slot)
        continue
      }
      const members = schema.unions[field.kind]
      if (members !== undefined) {
        builder.addInt8(members.indexOf((fields[field.name] as UnionValue).table) + 1)
        builder.slot(field.slot)
      }
      builder.addOffset(offset)
      builder.slot(members === undefined ? field.slot : field.slot + 1)
    }
    return builder.endObject()
  }
  builder.finish(writeTable(root, value), identifier)
  return builder.asUint8Array()
}
