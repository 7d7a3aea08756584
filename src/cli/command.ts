import type { Command } from 'commander'
import type { Session } from './session.ts'

/** A command's module: defines its arguments, options, and action. */
export interface CommandFile {
  readonly define: (command: Command, session: Session) => void
}

/** A command as listed in help. Its module is loaded only when the command is used. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<CommandFile>
}

export const entry = (name: string, summary: string, load: CommandEntry['load']): CommandEntry => ({
  name,
  summary,
  load,
})

/** Commands that share a first word, such as `svc keys list`. The word alone can also be a command, such as `svc models`. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly load?: CommandEntry['load']
  readonly commands: readonly CommandEntry[]
}

/** The command lines of an entry, as words: `svc keys list`; `svc models` and `svc models promote`. */
export const commandLinesOf = (entry: CommandEntry | CommandGroup): readonly (readonly string[])[] => [
  ...(entry.load === undefined ? [] : [[entry.name]]),
  ...('commands' in entry ? entry.commands.map(({ name }) => [entry.name, name]) : []),
]
