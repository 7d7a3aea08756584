import type { Io } from './io.ts'
import { run } from './program.ts'

/** The exit code and output of a run of `svc`. */
export interface Ran {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `svc` in this process and collects its output. */
export const runInProcess = async (
  argv: readonly string[],
  io: Partial<Omit<Io, 'stdout' | 'stderr'>> & {
    readonly onOutput?: (text: string) => void
    /** Whether standard error is a terminal. */
    readonly isWatched?: boolean
  } = {},
): Promise<Ran> => {
  const texts = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({
    write: (text: string): void => {
      texts[name] += text
      io.onOutput?.(text)
    },
  })
  const exitCode = await run(argv, {
    env: {},
    cwd: process.cwd(),
    ...io,
    stdout: sink('stdout'),
    stderr: { ...sink('stderr'), ...(io.isWatched && { isTTY: true }) },
  })
  return { exitCode, ...texts }
}
