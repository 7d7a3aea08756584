import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Ran } from '../../src/cli/in-process.fixture.ts'
import { builtFile } from './built-program.ts'

/** Runs `svc` as a built program, for commands that start the service: from source, they take three times as long. */
export const runBuilt = async (argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> => {
  const child = spawn(process.execPath, ['--liftoff-only', await builtFile('cli/main.js'), ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[exitCode], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { exitCode: exitCode as number, stdout, stderr }
}
