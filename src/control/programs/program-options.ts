import type { Config } from '../../config.ts'

export interface ProgramOptions {
  readonly config: Config
  /** The value of `--<option>`; null when it is absent. */
  text(option: string): string | null
  flag(option: string): boolean
  /** Prints the outcome: `words` for people, `data` for programs. */
  result(data: unknown, words: string): void
  progress(words: string): void
}
