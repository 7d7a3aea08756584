import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { ApiError } from '../../client/client.ts'
import { decimalNumber } from '../../domain/decimal-number.ts'
import { shellWord } from '../../domain/shell-word.ts'
import type { CommandFile } from '../command.ts'
import { Failure } from '../failure.ts'
import { apiBaseOption, type DataOptions, DEFAULT_LIMIT, jsonOption, keyValue, limitOption } from '../options.ts'
import type { Session } from '../session.ts'
import { cellOf, fillIn } from './cells.ts'
import { find, orgOf, unknown } from './find.ts'
import type { Kind } from './kinds.ts'
import { type OptionNames, withOptionNames } from './option-names.ts'
import { type Parts, send } from './requests.ts'
import {
  type Action,
  type Argument as ActionArgument,
  type ActionOption,
  type FindContext,
  foundInOrg,
  type Row,
} from './resource.ts'
import { showList, showRecord } from './show.ts'

type Values = Row & DataOptions & { readonly limit?: number; readonly org?: string; readonly yes?: true }

/** True if all rows are shown by default. */
const isWhole = ({ paged }: Action): boolean => paged !== undefined

const toNumber = (text: string): number => {
  const number = decimalNumber(text)
  if (Number.isFinite(number)) return number
  throw new InvalidArgumentError('It must be a number.')
}

/** Parses a number or `none`; commander does not accept null from a parser. */
const toNumberOrNone = (text: string): number | 'none' => {
  const number = text === 'none' ? 'none' : decimalNumber(text)
  if (number === 'none' || Number.isFinite(number)) return number
  throw new InvalidArgumentError('It must be a number or none.')
}

const toJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON, such as '{"api_key": "..."}': ${(error as Error).message}.`)
  }
}

const optionFor = ({ flags, help, parse = 'text', default: standard, choices, required, conflicts }: ActionOption) => {
  const option = new Option(flags, help)
  if (choices !== undefined) option.choices([...choices])
  if (parse === 'boolean') option.choices(['true', 'false'])
  if (typeof parse === 'function') option.argParser(parse as (text: string, before: unknown) => unknown)
  if (standard !== undefined) option.default(...standard)
  if (parse === 'number') option.argParser(toNumber)
  if (parse === 'number or none') option.argParser(toNumberOrNone)
  if (parse === 'json') option.argParser(toJson)
  if (parse === 'pairs') option.argParser(keyValue)
  if (parse === 'each') option.argParser((text: string, before: readonly string[] = []) => [...before, text])
  if (conflicts !== undefined) option.conflicts(conflicts)
  if (required) option.makeOptionMandatory()
  return option
}

const argumentFor = ({ name, help, many, parse, default: otherwise }: ActionArgument): Argument => {
  const argument = new Argument(otherwise !== undefined ? `[${name}]` : many ? `<${name}...>` : `<${name}>`, help)
  if (otherwise !== undefined) argument.default(otherwise)
  return parse === 'number' ? argument.argParser(toNumber) : argument
}

/** Returns the value that an option sends; undefined if it was not given. */
const sentBy = (option: ActionOption, values: Row): unknown => {
  const value = values[new Option(option.flags).attributeName()]
  if (option.parse === 'number or none' && value === 'none') return null
  if (option.parse === 'boolean') return value === undefined ? undefined : value === 'true'
  if (option.parse === 'off') return value === false ? false : undefined
  return option.parse === 'list' && typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value
}

/** Maps arguments and options to the request's path, query, and body. */
const partsOf = async (
  action: Action,
  words: readonly unknown[],
  values: Values,
  context: FindContext,
): Promise<Parts> => {
  const { args = [], options = [] } = action
  const sentOptions = options.flatMap((option) => {
    const sent = sentBy(option, values)
    return sent === undefined ? [] : [{ option, sent }]
  })
  const request = sentOptions.findLast(({ option }) => option.request !== undefined)?.option.request ?? action.request
  const look = (kind: Kind, name: string): Promise<Row> => find(context, kind, name)
  const path: Record<string, unknown> = {}
  const query: Record<string, unknown> = {}
  const fields: Record<string, unknown> = request.startsWith('GET ') ? query : {}
  for (const [at, argument] of args.entries()) {
    const word = words[at]
    if (argument.find !== undefined) {
      Object.assign(path, await find(context, argument.find, String(word), argument))
    }
    if (argument.field === undefined) continue
    if (request.includes(`{${argument.field}}`)) path[argument.field] = word
    else fields[argument.field] = word
  }
  for (const { option, sent } of sentOptions) {
    const target = request.includes(`{${option.field}}`) ? path : option.at === 'query' ? query : fields
    target[option.field] = option.find === undefined ? sent : Object.values(await look(option.find, String(sent)))[0]
  }
  if (action.org !== undefined) fields.org_id = await orgOf(context)
  else if (foundInOrg(action) === 'device' && values.org !== undefined) query.org_id = values.org
  if (action.body !== undefined) Object.assign(fields, await action.body(fields, look, context))
  return { request, path, query, body: fields === query || !takesBody(action) ? null : fields }
}

const takesBody = ({ args = [], options = [], org, request }: Action): boolean =>
  org === 'body' ||
  options.some(({ at }) => at !== 'query') ||
  args.some(({ field }) => field !== undefined && !request.includes(`{${field}}`))

const given = ({ args = [] }: Action, words: readonly unknown[]): Row =>
  Object.fromEntries(args.map(({ name }, at) => [name, words[at]]))

/** Rewrites errors about devices, which are looked up only by the request itself: unknown, or in several organizations. */
const withSuggestion = async (
  error: unknown,
  action: Action,
  words: readonly unknown[],
  context: FindContext,
): Promise<unknown> => {
  const at = (action.args ?? []).findIndex((argument) => argument.find === 'device')
  if (at < 0 || !(error instanceof Failure && error.cause instanceof ApiError)) return error
  const { message, cause } = error
  if (cause.code === 'not_found') return unknown(context, 'device', String(words[at]), cause)
  return cause.code === 'conflict'
    ? new Failure(message.replace('the query parameter org_id', '--org'), { cause })
    : error
}

const show = async (action: Action, response: Row, context: FindContext, { body }: Parts): Promise<void> => {
  const { out, now } = context.session
  if (action.done !== undefined) out.line(fillIn(action.done, response))
  else if (action.fields === undefined) {
    // Warnings follow on stderr.
    const { warnings: _warnings, ...record } = action.shown?.(response) ?? response
    showRecord(out, record)
  } else {
    const fields = typeof action.fields === 'function' ? await action.fields(response, context) : action.fields
    out.fields(fields.map((field) => [field[0], cellOf(response, field, now())]))
  }
  for (const warning of (response.warnings as readonly string[] | undefined) ?? []) out.warn(warning)
  if (action.hint !== undefined) out.note(fillIn(action.hint, response, shellWord))
  for (const note of (await action.notes?.(response, context, body ?? {})) ?? []) out.note(note)
}

const namesOf = ({ args = [], options = [] }: Action): OptionNames => [
  ...options.map(({ field, flags, parse }): OptionNames[number] =>
    parse === 'number or none' ? [field, new Option(flags).long!, 'none'] : [field, new Option(flags).long!],
  ),
  ...args.flatMap(({ field, name }): OptionNames => (field === undefined ? [] : [[field, `<${name}>`]])),
]

const execute = async (action: Action, words: readonly unknown[], values: Values, session: Session): Promise<void> => {
  const { out } = session
  const connection = await session.signedIn({
    apiBase: values.apiBase,
    ...(action.timeoutMs !== undefined && { timeoutMs: action.timeoutMs }),
  })
  const context: FindContext = { connection, session, org: values.org }
  const json = values.json === true
  try {
    const parts = await partsOf(action, words, values, context)
    if (action.confirm !== undefined && values.yes !== true) {
      const { confirm } = await import('../confirm.ts')
      await confirm(session.io, fillIn(action.confirm, given(action, words)))
    }
    if (action.rows !== undefined)
      return await showList(action, parts, {
        context,
        json,
        limit: values.limit ?? (isWhole(action) ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT),
      })
    const response = await send(connection, parts)
    if (json) out.json(response)
    const failure = action.failure?.(response) ?? null
    if (!json && (failure === null || action.fields !== undefined)) await show(action, response, context, parts)
    for (const note of (await action.after?.(response, context)) ?? []) out.note(note)
    if (failure !== null) throw failure
  } catch (error) {
    throw withOptionNames(await withSuggestion(error, action, words, context), namesOf(action))
  }
}

/** The help of --org; null if the action does not have it or defines its own. */
const orgHelp = (action: Action): string | null => {
  if (action.options?.some(({ flags }) => flags.startsWith('--org '))) return null
  const kind = foundInOrg(action)
  if (action.org !== undefined) return 'organization (default: the one from svc init or svc login)'
  if (kind === 'device') return 'organization of the device, if several have this device id'
  return kind === null ? null : `organization of the ${kind} (default: the one from svc init or svc login)`
}

/** Defines the command for an action of the table. */
export const defineAction = (action: Action): CommandFile => ({
  define(command: Command, session: Session): void {
    const { args = [], options = [] } = action
    for (const argument of args) command.addArgument(argumentFor(argument))
    for (const option of options) command.addOption(optionFor(option))
    const org = orgHelp(action)
    if (org !== null) command.option('--org <org_id>', org)
    if (action.rows !== undefined && action.request.startsWith('GET ')) {
      command.addOption(limitOption(isWhole(action) ? 'all' : DEFAULT_LIMIT))
    }
    if (action.confirm !== undefined) command.option('--yes', 'skip the confirmation')
    command
      .addOption(jsonOption())
      .addOption(apiBaseOption())
      .action((...all: unknown[]) => execute(action, all.slice(0, args.length), all[args.length] as Values, session))
  },
})
