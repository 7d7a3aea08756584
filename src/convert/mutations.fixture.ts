import { randomFrom } from '../../test/random.ts'
import { bytesSource } from '../tensors/sources.ts'
import { readZip } from '../tensors/zip.ts'
import { planZip } from '../tensors/zip-plan.ts'

const joined = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))

/** Copies of a file, each damaged in one to three places; the same in every run. */
export function* mutationsOf(bytes: Uint8Array, count: number, seed = 1): Generator<Uint8Array> {
  const random = randomFrom(seed)
  const damage = (file: Uint8Array): Uint8Array => {
    const at = random(file.length)
    const other = random(file.length)
    const length = random(40)
    const ways = [
      () => file.with(at, random(256)),
      () => file.with(at, file[at]! ^ (1 << random(8))),
      () => joined(file.subarray(0, at), file.subarray(at + length)),
      () => joined(file.subarray(0, at), file.subarray(other, other + length), file.subarray(at)),
      () => file.slice().fill(0xff, at, at + 8),
      () => file.subarray(0, at),
    ]
    return ways[random(ways.length)]!()
  }
  for (let n = 0; n < count; n++) {
    let damaged = new Uint8Array(bytes) as Uint8Array
    for (let times = 1 + random(3); times > 0 && damaged.length > 0; times--) damaged = damage(damaged)
    yield damaged
  }
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The places of all values in a document: the object or array that holds each, and its name or index there. */
const placesIn = (document: Json): { holder: { [key: string]: Json }; key: string }[] => {
  if (document === null || typeof document !== 'object') return []
  const holder = document as { [key: string]: Json }
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key]!)])
}

const STRANGE: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  'x',
  'constructor',
  [],
  {},
  [[]],
  [null],
  [0, 0],
  ['x'],
]

/**
 * Copies of a stored zip archive whose JSON documents (members named `*.json`) are read without errors, but have one to three
 * values that are missing, of another place in the document, slightly changed, or of another type; the same in every run.
 */
export function* jsonMutationsOf(archive: Uint8Array, count: number, seed = 1): Generator<Uint8Array> {
  const random = randomFrom(seed)
  const members = readZip(bytesSource(archive)).map(({ name, dataOffset, size }) => ({
    name,
    start: archive.slice(dataOffset, dataOffset + size),
    tail: 0,
    align: 1,
  }))
  const documents = members.filter(({ name }) => name.endsWith('.json'))
  const damage = (document: Json): void => {
    const places = placesIn(document)
    if (places.length === 0) return
    const { holder, key } = places[random(places.length)]!
    const other = places[random(places.length)]!
    const value = holder[key]!
    const ways = [
      () => (Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key]),
      () => {
        holder[key] = structuredClone(other.holder[other.key]!)
      },
      () => {
        holder[key] = STRANGE[random(STRANGE.length)]!
      },
      () => {
        holder[key] =
          typeof value === 'number' ? value + random(5) - 2 : Array.isArray(value) ? [...value, ...value] : value
      },
    ]
    ways[random(ways.length)]!()
  }
  const documentAt = (byte: number) => documents.find(({ start }) => (byte -= start.length) < 0)!
  const total = documents.reduce((sum, { start }) => sum + start.length, 0)
  for (let n = 0; n < count; n++) {
    const chosen = documentAt(random(total))
    const document = JSON.parse(new TextDecoder().decode(chosen.start)) as Json
    for (let times = 1 + random(3); times > 0; times--) damage(document)
    const damaged = { ...chosen, start: new TextEncoder().encode(JSON.stringify(document)) }
    const plan = planZip(members.map((member) => (member === chosen ? damaged : member)))
    const bytes = new Uint8Array(plan.size)
    for (const piece of plan.pieces) bytes.set(piece.bytes, piece.offset)
    yield bytes
  }
}
