import type { Command } from 'commander'
import type { Session } from './session.ts'

/** A command's file: its arguments, its options and what it does. */
export interface CommandFile {
  readonly define: (command: Command, session: Session) => void
}

/** A command as help lists it. Its file is loaded only when it is the one that was asked for. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<CommandFile>
}

/** Commands under one word, such as `svc keys list`. The word alone may be a command too, such as `svc models`. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly load?: CommandEntry['load']
  readonly commands: readonly CommandEntry[]
}

/** The command lines that an entry stands for, as words: `svc keys list`; `svc models` and `svc models promote`. */
export const commandLinesOf = (entry: CommandEntry | CommandGroup): readonly (readonly string[])[] => [
  ...(entry.load === undefined ? [] : [[entry.name]]),
  ...('commands' in entry ? entry.commands.map(({ name }) => [entry.name, name]) : []),
]
