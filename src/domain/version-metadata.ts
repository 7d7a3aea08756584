import { badRequest } from './errors.ts'
import { isObject } from './is-object.ts'
import { cut, isStorable, NAME_CHARACTERS } from './text.ts'

export type MetadataValue = string | number | boolean

/** What the uploader of a version recorded with it, by key: metrics, parameters, tags. */
export type Metadata = Readonly<Record<string, MetadataValue>>

/** Changes of metadata; null deletes a key. */
export type MetadataChanges = Readonly<Record<string, MetadataValue | null>>

export const MAX_METADATA_ENTRIES = 64
export const MAX_METADATA_KEY = 64
export const MAX_METADATA_TEXT = 500
/** In characters of JSON, so that a model with many versions can be listed. */
export const MAX_METADATA_JSON = 8192

/** Enough to replace all entries. */
export const MAX_METADATA_CHANGES = 2 * MAX_METADATA_ENTRIES

const KEY = new RegExp(`^${NAME_CHARACTERS}$`, 'u')

const lengthOf = (text: string): number => [...text].length

/** Composed characters: a key looks the same in other forms. */
const readKey = (given: string): string => {
  const key = given.normalize('NFC')
  const isValid = KEY.test(key) && lengthOf(key) <= MAX_METADATA_KEY && key.trim() === key && key !== '__proto__'
  if (isValid) return key
  throw badRequest(
    `metadata: ${JSON.stringify(cut(given, 80))} is not a key: 1 to ${MAX_METADATA_KEY} characters on one line, no control characters, ` +
      'no space at the beginning or end, and not __proto__.',
  )
}

const readValue = (key: string, value: unknown): MetadataValue => {
  const must = (what: string) => badRequest(`metadata.${key} must be ${what}.`)
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
  if (typeof value === 'number') throw must('a finite number')
  if (typeof value !== 'string') {
    throw must(`a string, a finite number, or true or false, got ${Array.isArray(value) ? 'an array' : 'an object'}`)
  }
  if (!isStorable(value)) throw must('text without U+0000 and unpaired surrogates')
  const length = lengthOf(value)
  if (length > MAX_METADATA_TEXT) throw must(`at most ${MAX_METADATA_TEXT} characters, got ${length}`)
  return value
}

/** Returns valid changes from an object in a request. @throws bad_request naming the key */
export const readMetadataChanges = (value: unknown): MetadataChanges => {
  if (!isObject(value)) throw badRequest('metadata must be an object such as {"accuracy": 0.91, "dataset": "2026-11"}.')
  const entries = Object.entries(value)
  if (entries.length > MAX_METADATA_CHANGES)
    throw badRequest(
      `metadata names ${entries.length} keys; at most ${MAX_METADATA_CHANGES} are accepted in one request.`,
    )
  const changes = new Map<string, MetadataValue | null>()
  for (const [given, item] of entries) {
    const key = readKey(given)
    if (changes.has(key)) throw badRequest(`metadata names '${key}' twice, in different Unicode forms.`)
    changes.set(key, item === null ? null : readValue(key, item))
  }
  return Object.fromEntries(changes)
}

/** Returns the metadata after the changes. @throws bad_request if it becomes too large */
export const changeMetadata = (before: Metadata, changes: MetadataChanges): Metadata => {
  const entries = Object.entries({ ...before, ...changes })
  const after = entries.filter((entry): entry is [string, MetadataValue] => entry[1] !== null)
  if (after.length > MAX_METADATA_ENTRIES) {
    throw badRequest(`metadata would have ${after.length} entries; at most ${MAX_METADATA_ENTRIES} are accepted.`)
  }
  const metadata = Object.fromEntries(after)
  const { length } = JSON.stringify(metadata)
  if (length <= MAX_METADATA_JSON) return metadata
  throw badRequest(`metadata would have ${length} characters of JSON; at most ${MAX_METADATA_JSON} are accepted.`)
}

/** Returns the metadata of a new version from an object in a request; null counts as absent. @throws bad_request naming the key */
export const readMetadata = (value: unknown): Metadata => changeMetadata({}, readMetadataChanges(value))
