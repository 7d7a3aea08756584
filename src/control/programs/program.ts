import { ConfigError, readConfig } from '../../config.ts'
import { ServiceError } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { StartError } from '../../platform/db/start-error.ts'
import { limitAdvice } from '../resource-limits.ts'
import type { ProgramOptions } from './program-options.ts'

/** Programs to run while the service is stopped: `main.js backup --target /mnt/backups`. `svc` starts them. */
const PROGRAMS: Readonly<Record<string, () => Promise<(options: ProgramOptions) => Promise<void>>>> = {
  backup: async () => (await import('./backup.ts')).backup,
  backups: async () => (await import('./backup.ts')).listInTarget,
  migrate: async () => (await import('./migrate.ts')).migrate,
  restore: async () => (await import('./restore.ts')).restore,
}

const optionsOf = (argv: readonly string[]): Readonly<Record<string, string | true>> => {
  const options: Record<string, string | true> = {}
  for (let at = 0; at < argv.length; at++) {
    const name = argv[at]!.replace(/^--/, '')
    const next = argv[at + 1]
    if (next === undefined || next.startsWith('--')) options[name] = true
    else {
      options[name] = next
      at++
    }
  }
  return options
}

/**
 * Runs the program that the first argument names. Prints its result as a line of text, or of JSON with `--json`.
 * @returns the exit code; null if there are no arguments and the service itself should start
 */
export const runProgram = async ([name, ...argv]: readonly string[]): Promise<number | null> => {
  if (name === undefined) return null
  const load = ownEntry(PROGRAMS, name)
  if (load === undefined) {
    console.error(
      `Unknown argument '${name}'. Use environment variables, such as SERVICE_PORT, or start with options: svc up.`,
    )
    return 2
  }
  const options = optionsOf(argv)
  const text = (option: string): string | null => (typeof options[option] === 'string' ? options[option] : null)
  try {
    const run = await load()
    await run({
      config: readConfig(process.env),
      text,
      flag: (option) => options[option] === true,
      result: (data, words) => console.log(options.json === true ? JSON.stringify(data) : words),
      progress: (words) => console.error(words),
    })
    return 0
  } catch (error) {
    const advice = limitAdvice(error)
    if (advice !== null) {
      console.error(advice)
      return 1
    }
    if (error instanceof ServiceError || error instanceof ConfigError || error instanceof StartError) {
      console.error(error.message)
      return 1
    }
    throw error
  }
}
