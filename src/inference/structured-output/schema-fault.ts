import { pointerTo } from '../../domain/json-pointer.ts'
import { InferenceError } from '../errors.ts'

export type Schema = Readonly<Record<string, unknown>>

/** `place` is a JSON pointer into the schema; `fault` says what is wrong there and what to do. */
export const schemaFault = (place: string, fault: string): InferenceError =>
  new InferenceError('unsupported', `The JSON schema cannot be used: at '#${place}' ${fault}`, {
    param: 'response_format',
  })

/** Reads an integer of at least 0; undefined if the keyword is absent. */
export const countAt = (schema: Schema, keyword: string, place: string): number | undefined => {
  const value = schema[keyword]
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return value as number | undefined
  throw schemaFault(pointerTo(place, keyword), `${JSON.stringify(value)} is not a whole number of at least 0.`)
}

/** Formats a value for a message. */
export const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 80)
