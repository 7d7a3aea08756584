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

/** Commands under one word, such as `svc keys list`. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly commands: readonly CommandEntry[]
}
