import { Command } from 'commander'
import { ownEntry } from '../../domain/own-entry.ts'
import type { CommandEntry, CommandGroup } from '../command.ts'
import { connect } from '../connection.ts'
import type { Io } from '../io.ts'
import { withoutControlCharacters } from '../output.ts'
import { namesOf } from '../resources/find.ts'
import { type Kind, LISTS, type ListedKind } from '../resources/kinds.ts'
import { createSession, type Session } from '../session.ts'

/** The user is waiting for the completion. */
const DEADLINE_MS = 1200
const MAX_COUNT = 100

/** What arguments and options refer to whose names are not those of a kind. */
const KINDS: Readonly<Record<string, Kind>> = {
  device: 'device',
  devices: 'device',
  deviceId: 'device',
  round_id: 'round',
}
/** Commands whose <name> argument is a model name. */
const OF_MODELS = ['deploy', 'pull', 'status', 'rollback']

const kindOf = (path: string, name: string): Kind | null =>
  name === 'name' && OF_MODELS.includes(path)
    ? 'model'
    : Object.hasOwn(LISTS, name)
      ? (name as ListedKind)
      : (ownEntry(KINDS, name) ?? null)

const fromService = async (
  session: Session,
  kind: Kind,
  begins: string,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const baseUrl = await session.apiBase(undefined)
  const key = await session.apiKey(baseUrl)
  const connection = connect({ baseUrl, apiKey: key?.key, signal })
  return namesOf({ connection, session, org: undefined }, kind, begins, MAX_COUNT)
}

/** Returns completions for the last word, which may be empty. */
const candidates = async (
  words: readonly string[],
  commands: readonly (CommandEntry | CommandGroup)[],
  session: Session,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const top = commands.find(({ name }) => name === before[0])
  if (top === undefined) return before.length === 0 ? commands.map(({ name }) => name) : []
  const below = 'commands' in top ? top.commands : []
  const sub = below.find(({ name }) => name === before[1])
  if (sub === undefined && below.length > 0 && before.length === 1 && !typed.startsWith('-'))
    return below.map(({ name }) => name)
  const load = (sub ?? top).load
  if (load === undefined) return []
  const command = new Command()
  const { define } = await load()
  define(command, session)
  const rest = before.slice(sub === undefined ? 1 : 2)
  const last = rest.at(-1) ?? ''
  const option = command.options.find(({ short, long }) => last !== '' && (short === last || long === last))
  if (option !== undefined && (option.required || option.optional)) {
    const kind = kindOf('', option.attributeName())
    return option.argChoices ?? (kind === null ? [] : fromService(session, kind, typed, signal))
  }
  if (typed.startsWith('-')) return [...command.options.flatMap(({ long }) => long ?? []), '--help']
  const given = rest.filter((word, at) => !word.startsWith('-') && !takesValue(command, rest[at - 1])).length
  const declared = command.registeredArguments
  const argument = declared[given] ?? (declared.at(-1)?.variadic ? declared.at(-1) : undefined)
  if (argument === undefined) return []
  const path = sub === undefined ? top.name : `${top.name} ${sub.name}`
  const kind = kindOf(path, argument.name())
  return argument.argChoices ?? (kind === null ? [] : fromService(session, kind, typed, signal))
}

const takesValue = (command: Command, word: string | undefined): boolean =>
  command.options.some(
    ({ short, long, required }) => required && word !== undefined && (short === word || long === word),
  )

/** Prints the completions, one per line. Prints nothing on a timeout or an error. */
export const complete = async (
  words: readonly string[],
  commands: readonly (CommandEntry | CommandGroup)[],
  io: Io,
): Promise<void> => {
  const quiet = { write: () => undefined }
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const late = new Promise<readonly string[]>((resolve) => signal.addEventListener('abort', () => resolve([])))
  const session = createSession({ ...io, stdout: quiet, stderr: quiet })
  const found = await Promise.race([candidates(words, commands, session, signal), late]).catch(() => [])
  const typed = words.at(-1) ?? ''
  for (const word of found) {
    if (word.startsWith(typed) && !/\s/.test(word) && withoutControlCharacters(word) === word)
      io.stdout.write(`${word}\n`)
  }
}
