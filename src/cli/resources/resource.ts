import type { CommandEntry } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { KINDS_OF_ORG, type Kind } from './kinds.ts'

/** A search of the privacy accounting takes about a dozen computations on the service. */
export const PRIVACY_TIMEOUT_MS = 120_000

/** A record in the service's JSON. */
export type Row = Readonly<Record<string, unknown>>

/** How a cell is formatted; as text by default. `id` is shortened on a narrow terminal. */
export type Format = 'id' | 'ago' | 'time' | 'percent' | 'share' | 'figure' | 'size' | 'count' | 'names'

/** A column's header, its field or a function of the row, and its format. */
export type Column = readonly [head: string, value: string | ((row: Row, now: Date) => unknown), format?: Format]

/** Columns for the history of a plan and of its devices. */
export const HISTORY_COLUMNS: readonly Column[] = [
  ['AT', 'at', 'time'],
  ['EVENT', 'event'],
  ['STATUS', 'status'],
  ['PERCENT', 'percentage', 'percent'],
  ['REASON', 'reason'],
  ['BY', 'actor', 'id'],
]
export const PLAN_DEVICE_COLUMNS: readonly Column[] = [
  ['DEVICE', 'device_id'],
  ['STATE', 'state'],
  ['VERSION', 'version'],
  ['REPORTED', 'reported_at', 'time'],
  ['REASON', 'reason'],
]

export interface FindContext {
  readonly connection: Connection
  readonly session: Session
  /** From --org. */
  readonly org: string | undefined
}

export interface Argument {
  readonly name: string
  readonly help: string
  /** Looked up by name or id, which sets path parameters. */
  readonly find?: Kind
  /** For jobs: which of several with the same name or model; otherwise the newest. */
  readonly prefer?: (row: Row) => boolean
  /** Why the object that was found cannot be used; null if it can. */
  readonly refuse?: (row: Row) => Failure | null
  /** A field of the path if the path has it, otherwise of the body. */
  readonly field?: string
  readonly parse?: 'number'
  readonly many?: true
  /** Used when the argument is omitted. */
  readonly default?: string
}

type Parse = 'text' | 'json' | 'boolean' | 'number' | 'number or none' | 'list' | 'each' | 'pairs' | 'flag' | 'off'

export interface ActionOption {
  /** In commander's format: `--reason <text>`. */
  readonly flags: string
  readonly help: string
  /** The field in the query (GET) or the body. */
  readonly field: string
  /** Put in the query even if the request is not a GET. */
  readonly at?: 'query'
  /**
   * `json` is parsed; `boolean` is true or false; `number or none` sends null for none; `flag` sends true, `off` false; `each`
   * can be repeated; so can `pairs`, as key=value.
   */
  readonly parse?: Parse | ((text: string, before: never) => unknown)
  /** The value that is sent by default, and its text in help. */
  readonly default?: readonly [value: unknown, shown: string]
  readonly choices?: readonly string[]
  /** The name is looked up, and the object's id is sent. */
  readonly find?: Kind
  readonly required?: true
  /** An option that cannot be combined with it. */
  readonly conflicts?: string
  /** The request to send instead of the action's; this option is a parameter of its path if the path has it. */
  readonly request?: string
}

/** One command of a resource: a request, and how its response is shown. */
export interface Action {
  readonly name: string
  readonly summary: string
  /** Method and path, as in openapi.json. */
  readonly request: string
  readonly args?: readonly Argument[]
  readonly options?: readonly ActionOption[]
  /** Body fields that do not come from a single argument or option. */
  readonly body?: (values: Row, find: (kind: Kind, name: string) => Promise<Row>, context: FindContext) => Promise<Row>
  /** For a list: the field with the rows, and the columns to show. */
  readonly rows?: string
  readonly columns?: readonly Column[]
  /** false: the response is the whole list. uncounted: it has pages, without their number, and all are shown by default. */
  readonly paged?: false | 'uncounted'
  /** Printed if the list is empty. */
  readonly none?: string
  /** For a change: printed afterwards, with response fields in braces. Without `rows` and `done`, the response is shown. */
  readonly done?: string
  readonly hint?: string
  /** For a response that is shown: its fields; all if omitted. Shown before a failure, too. */
  readonly fields?: readonly Column[] | ((response: Row, context: FindContext) => Promise<readonly Column[]>)
  /** Selects what to show of the response. */
  readonly shown?: (response: Row) => Row
  /** Notes to print at the end, given the response and the body that was sent. */
  readonly notes?: (response: Row, context: FindContext, sent: Row) => Promise<readonly string[]>
  /** Called once the request has succeeded, with --json too; returns notes to print. */
  readonly after?: (response: Row, context: FindContext) => Promise<readonly string[]>
  /** Returns why the command fails although the request was accepted, such as that nothing was changed; null if it does not. */
  readonly failure?: (response: Row) => Failure | null
  /** For requests that take longer than usual. */
  readonly timeoutMs?: number
  /** A confirmation to ask for, with the command's arguments in braces. */
  readonly confirm?: string
  /** Sends the organization in the query or the body. */
  readonly org?: 'query' | 'body'
  /** The kinds that `body` looks up by name. */
  readonly finds?: readonly Kind[]
}

export interface Resource {
  readonly name: string
  readonly summary: string
  /** An entry has its own module, for more than one request and its response. */
  readonly actions: readonly (Action | CommandEntry)[]
}

export const argument = (name: string, help: string, more: Omit<Argument, 'name' | 'help'> = {}): Argument => ({
  name,
  help,
  ...more,
})

/** `more` is how the value is parsed, or an object with further settings. */
export const option = (
  flags: string,
  help: string,
  field: string,
  more: NonNullable<ActionOption['parse']> | Omit<ActionOption, 'flags' | 'help' | 'field'> = {},
): ActionOption => ({ flags, help, field, ...(typeof more === 'object' ? more : { parse: more }) })

/** Returns the kind that a command looks up within the organization from --org; null if there is none. */
export const foundInOrg = ({ args = [], options = [], finds = [] }: Action): Kind | null => {
  const kinds = [...[...args, ...options].map(({ find }) => find), ...finds]
  return KINDS_OF_ORG.find((kind) => kinds.includes(kind)) ?? null
}

export const action = (
  name: string,
  summary: string,
  request: string,
  more: Omit<Action, 'name' | 'summary' | 'request'> = {},
): Action => ({ name, summary, request, ...more })

/** For a change of several objects: `field` lists the changed ones. Prints the skipped ones; fails if nothing changed. */
export const ofSeveral = (field: string, nothing: string, why: string): Pick<Action, 'failure' | 'notes'> => {
  const skippedIn = ({ skipped }: Row): string => `Skipped: ${(skipped as readonly string[]).join(', ')} (${why}).`
  return {
    failure: (response) =>
      (response[field] as readonly string[]).length > 0 ? null : new Failure(`${nothing}. ${skippedIn(response)}`),
    notes: async (response) => ((response.skipped as readonly string[]).length === 0 ? [] : [skippedIn(response)]),
  }
}
