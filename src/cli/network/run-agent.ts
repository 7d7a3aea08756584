import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Io } from '../io.ts'

/** Ctrl-C also reaches the agent, which handles it itself: it must not stop svc or the server. */
const withoutInterrupts = async <Result>(run: () => Promise<Result>): Promise<Result> => {
  const before = process.listeners('SIGINT')
  const ignore = (): void => undefined
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', ignore)
  try {
    return await run()
  } finally {
    process.off('SIGINT', ignore)
    for (const listener of before) process.on('SIGINT', listener)
  }
}

export interface AgentRun {
  readonly path: string
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Runs the agent in this terminal and returns its exit code, like a shell. */
export const runAgent = ({ path, argv, env }: AgentRun, io: Io): Promise<number> =>
  withoutInterrupts(
    () =>
      new Promise((resolve, reject) => {
        const child = spawn(path, argv, {
          stdio: 'inherit',
          cwd: io.cwd,
          env: { ...io.env, ...env },
          shell: process.platform === 'win32',
        })
        const stop = (): void => void child.kill('SIGTERM')
        io.signal?.addEventListener('abort', stop, { once: true })
        child.once('error', reject)
        child.once('exit', (code, signal) => {
          io.signal?.removeEventListener('abort', stop)
          resolve(code ?? 128 + constants.signals[signal!])
        })
      }),
  )
