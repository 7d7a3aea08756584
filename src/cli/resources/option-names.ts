import { ApiError } from '../../client/client.ts'
import { Failure } from '../failure.ts'

/** Fields of a request, and what the command line calls them: `['min_devices', '--min-devices']`; `['option.', '--option ']`. */
export type OptionNames = readonly (readonly [field: string, name: string])[]

/** A field whose name is an ordinary word is recognized only where the service's errors begin with it. */
const patternOf = (field: string): RegExp => {
  if (!/[_.]/.test(field)) return new RegExp(`^${field}(?= must |: )`)
  const end = field.endsWith('.') ? '' : "(?![\\w'-])"
  return new RegExp(`(?<![\\w.'-])${field.replaceAll('.', '\\.')}${end}`, 'g')
}

/** Names the options and arguments in an error about the request, in which the service names its fields. */
export const withOptionNames = (error: unknown, names: OptionNames): unknown => {
  if (!(error instanceof Failure && error.cause instanceof ApiError && error.cause.code === 'bad_request')) return error
  const message = names.reduce((text, [field, name]) => text.replace(patternOf(field), name), error.message)
  return new Failure(message, { cause: error.cause, ...(error.advice !== undefined && { advice: error.advice }) })
}
