import { spawn } from 'node:child_process'
import { InferenceError } from '../../errors.ts'

export interface ProgramRun {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

const KEPT = 3000

/** Runs a program to its end. @throws InferenceError engine_failed with what it last said */
export const runProgram = (program: string, argv: readonly string[], { cwd, env, signal }: ProgramRun): Promise<void> =>
  new Promise((resolve, reject) => {
    // npm is a script on Windows, which only a shell starts; no argument comes from a user.
    const shell = process.platform === 'win32' && program === 'npm'
    const child = spawn(program, argv, { cwd, env: env as NodeJS.ProcessEnv, shell, stdio: ['ignore', 'pipe', 'pipe'] })
    let words = ''
    const hear = (chunk: Buffer): void => {
      words = (words + chunk.toString()).slice(-KEPT)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const stop = (): void => void child.kill()
    signal.addEventListener('abort', stop, { once: true })
    const fail = (how: string, cause?: unknown): void => {
      const output = words.trim() === '' ? 'It said nothing.' : `It said:\n${words.trim()}`
      reject(new InferenceError('engine_failed', `${[program, ...argv].join(' ')} ${how}. ${output}`, { cause }))
    }
    child.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT'
        ? reject(new InferenceError('engine_missing', `${program} is needed for this, and is not on PATH.`))
        : fail('could not be started', error),
    )
    child.once('close', (code, by) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else if (code === 0) resolve()
      else fail(by === null ? `ended with code ${code}` : `was ended by ${by}`)
    })
  })

/**
 * Installs what package.json in `cwd` names. Without install scripts: what is used here needs none, and theirs fetch from
 * elsewhere than the registry.
 */
export const npmInstall = (run: ProgramRun): Promise<void> =>
  runProgram('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], run)
