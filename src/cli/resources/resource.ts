import type { Connection } from '../connection.ts'
import type { Session } from '../session.ts'

/** A record of the service as it came over the wire. */
export type Row = Readonly<Record<string, unknown>>

/** How a cell is written; text when absent. `id`: its first characters where the terminal is narrow. */
export type Format = 'id' | 'ago' | 'time' | 'percent' | 'share' | 'figure' | 'size' | 'count' | 'names'

/** The head, the field (or what is made of the row), and the format of a column. */
export type Column = readonly [head: string, value: string | ((row: Row, now: Date) => unknown), format?: Format]

/** The columns of what happened to a plan, and of its devices. */
export const HISTORY_COLUMNS: readonly Column[] = [
  ['AT', 'at', 'time'],
  ['EVENT', 'event'],
  ['STATUS', 'status'],
  ['PERCENT', 'percentage', 'percent'],
  ['REASON', 'reason'],
  ['BY KEY', 'actor', 'id'],
]
export const PLAN_DEVICE_COLUMNS: readonly Column[] = [
  ['DEVICE', 'device_id'],
  ['STATE', 'state'],
  ['VERSION', 'version'],
  ['REPORTED', 'reported_at', 'time'],
  ['REASON', 'reason'],
]

/** What can be named by a name or an id, and completed in a shell. */
export type Kind =
  | 'device'
  | 'group'
  | 'model'
  | 'round'
  | 'rollout'
  | 'deployment'
  | 'experiment'
  | 'job'
  | 'federation'
  | 'integration'
  | 'member'

export interface FindContext {
  readonly connection: Connection
  readonly session: Session
  /** --org */
  readonly org: string | undefined
}

export interface Argument {
  readonly name: string
  readonly help: string
  /** Found by name or id: gives the parameters of the path. */
  readonly find?: Kind
  /** Field of the body; of the path where the path has it. */
  readonly field?: string
  readonly parse?: 'number'
  readonly many?: true
  /** Taken when none is given. */
  readonly default?: string
}

type Parse = 'text' | 'json' | 'boolean' | 'number' | 'number or none' | 'list' | 'each' | 'pairs' | 'flag' | 'off'

export interface ActionOption {
  /** As commander takes them: `--reason <text>`. */
  readonly flags: string
  readonly help: string
  /** Field of the query (GET) or of the body. */
  readonly field: string
  /** Of the query also where the request is no GET. */
  readonly at?: 'query'
  /** `json` is parsed, `boolean` is true or false; `number or none` sends null for none; `flag` sends true, `off` false; `each` may be repeated, `pairs` too, as key=value. */
  readonly parse?: Parse | ((text: string, before: never) => unknown)
  /** Sent when it is not given, and how help writes it. */
  readonly default?: readonly [value: unknown, shown: string]
  readonly choices?: readonly string[]
  /** What is sent is the id of what was named. */
  readonly find?: Kind
  readonly required?: true
  /** Another option that goes not with it. */
  readonly conflicts?: string
  /** Sent in place of the action's: the option is a parameter of its path. */
  readonly request?: string
}

/** One command of a resource: one request, and how its answer is shown. The table that the engine runs. */
export interface Action {
  readonly name: string
  readonly summary: string
  /** Method and path, as openapi.json has them. */
  readonly request: string
  readonly args?: readonly Argument[]
  readonly options?: readonly ActionOption[]
  /** Parts of the body that follow from no single argument or option. */
  readonly body?: (values: Row, find: (kind: Kind, name: string) => Promise<Row>, context: FindContext) => Promise<Row>
  /** A list: the field of its rows, and their columns. */
  readonly rows?: string
  readonly columns?: readonly Column[]
  /** False: the answer is the whole list. */
  readonly paged?: false
  /** What is said of an empty list. */
  readonly none?: string
  /** A change: what is said of it, with fields of the answer in braces. Without `rows` and `done` the answer is shown. */
  readonly done?: string
  readonly hint?: string
  /** Of an answer that is shown: its fields, each a name and a field or what is made of the answer; all when absent. */
  readonly fields?: readonly Column[]
  /** What of an answer is shown in its place. */
  readonly shown?: (answer: Row) => Row
  /** What is said below, by the answer and what was sent. */
  readonly notes?: (answer: Row, context: FindContext, sent: Row) => Promise<readonly string[]>
  /** Why nothing was changed, by the answer; the command then fails. Null: something was. */
  readonly unchanged?: (answer: Row) => string | null
  /** Asked before: with the words as they were given, in braces. */
  readonly confirm?: string
  /** Sends the organization: in the query or in the body. */
  readonly org?: 'query' | 'body'
  /** What `body` looks up by name. */
  readonly finds?: readonly Kind[]
}

/** An action with a file of its own, where a request and its answer are not all of it. */
export interface OwnAction {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<import('../command.ts').CommandFile>
}

export interface Resource {
  readonly name: string
  readonly summary: string
  readonly actions: readonly (Action | OwnAction)[]
}

export const argument = (name: string, help: string, more: Omit<Argument, 'name' | 'help'> = {}): Argument => ({
  name,
  help,
  ...more,
})

export const option = (
  flags: string,
  help: string,
  field: string,
  more: Omit<ActionOption, 'flags' | 'help' | 'field'> = {},
): ActionOption => ({ flags, help, field, ...more })

/** Their names are unique in an organization only. */
const KINDS_OF_ORG: readonly Kind[] = ['device', 'group', 'member']

/** What a command looks up in an organization, which --org may name; null where there is no such thing. */
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

/** Of a change to several things, the changed ones in `field`: those left out are told; where all are, nothing was changed. */
export const ofSeveral = (field: string, nothing: string, why: string): Pick<Action, 'unchanged' | 'notes'> => {
  const skippedIn = ({ skipped }: Row): string => `Skipped: ${(skipped as readonly string[]).join(', ')} (${why}).`
  return {
    unchanged: (answer) =>
      (answer[field] as readonly string[]).length > 0 ? null : `${nothing}. ${skippedIn(answer)}`,
    notes: async (answer) => ((answer.skipped as readonly string[]).length === 0 ? [] : [skippedIn(answer)]),
  }
}
