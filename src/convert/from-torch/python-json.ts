// Parses JSON as written by Python, and reads its members.
import { badRequest } from '../../domain/errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

const MAX_NODES = 200_000

export const damagedProgram = (what: string) =>
  badRequest(`The PyTorch program is damaged: ${what}. Save it again with torch.export.save.`)

export const asObject = (value: Json | undefined, what: string): JsonObject => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw damagedProgram(`${what} is missing`)
  return value as JsonObject
}

export const asList = (value: Json | undefined, what: string): readonly Json[] => {
  if (!Array.isArray(value)) throw damagedProgram(`${what} is not a list`)
  if (value.length > MAX_NODES) throw damagedProgram(`${what} has ${value.length} entries, more than ${MAX_NODES}`)
  return value
}

export const asText = (value: Json | undefined, what: string): string => {
  if (typeof value !== 'string') throw damagedProgram(`${what} is not text`)
  return value
}

/** Python writes infinities as words, with or without quotes. */
export const asNumber = (value: Json | undefined, what: string): number => {
  const number =
    typeof value === 'string' && /^(-?Infinity|NaN)$/.test(value) ? Number(value) : (value as number | undefined)
  if (typeof number !== 'number') throw damagedProgram(`${what} is not a number`)
  return number
}

/** Parses JSON as written by Python, with NaN and Infinity. */
export const parseJson = (json: string, what: string): Json => {
  const strict = json.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (part) =>
    part.startsWith('"') ? part : `"${part}"`,
  )
  try {
    return JSON.parse(strict) as Json
  } catch {
    throw damagedProgram(`${what} is not JSON`)
  }
}
