import { type Config, readConfig } from '../../config.ts'
import type { ProgramOptions } from './program-options.ts'

/**
 * Runs a program of the service in this process, where its modules are loaded already; `svc` starts it in one of its own.
 * @returns its data, its words, and what it printed meanwhile
 */
export const runProgramHere = async (
  program: (options: ProgramOptions) => Promise<void>,
  dataDir: string,
  options: Readonly<Record<string, string | true>>,
  settings: Partial<Config> = {},
): Promise<{ readonly data: unknown; readonly words: string; readonly progress: readonly string[] }> => {
  const printed = { data: null as unknown, words: '', progress: [] as string[] }
  await program({
    config: { ...readConfig({ SERVICE_LOG_LEVEL: 'error' }), ...settings, dataDir },
    text: (name) => (typeof options[name] === 'string' ? options[name] : null),
    flag: (name) => options[name] === true,
    result: (data, words) => Object.assign(printed, { data, words }),
    progress: (words) => printed.progress.push(words),
  })
  return printed
}
