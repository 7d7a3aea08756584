import { ApiError } from '../../client/client.ts'
import { Failure } from '../failure.ts'

/**
 * Fields of a request, and what the command line calls them, such as `['min_devices', '--min-devices']`; and what it calls the
 * value null, if the option takes it.
 */
export type OptionNames = readonly (readonly [field: string, name: string, nullName?: string])[]

/**
 * Also matches the dot before a part of the field, and the index of an item. A field whose name is an ordinary word is
 * recognized only where the service's errors begin with it.
 */
const patternOf = (field: string): RegExp => {
  const name = `${field.replaceAll('.', '\\.')}(?:\\[\\d+\\])?`
  return /[_.]/.test(field)
    ? new RegExp(`(?<![\\w.'"-])${name}(?:\\.(?=\\w)|(?![\\w'"-]))`, 'g')
    : new RegExp(`(?<=^|; )${name}(?:\\.(?=\\w)|(?= must |: | is required))`, 'g')
}

/** `strategy_options.trim` is given as `--option trim=0.1`. */
const named = (text: string, [field, name, nullName]: OptionNames[number]): string => {
  const renamed = text.replace(patternOf(field), (found) => (found.endsWith('.') ? `${name} ` : name))
  if (nullName === undefined) return renamed
  return renamed.replace(new RegExp(`(?<=${name} must be [^;]*) or null(?=, got )`), ` or ${nullName}`)
}

/** Names the options and arguments in an error about the request, in which the service names its fields. */
export const withOptionNames = (error: unknown, names: OptionNames): unknown => {
  if (!(error instanceof Failure && error.cause instanceof ApiError && error.cause.code === 'bad_request')) return error
  const message = names.reduce(named, error.message)
  return new Failure(message, { cause: error.cause, ...(error.advice !== undefined && { advice: error.advice }) })
}
