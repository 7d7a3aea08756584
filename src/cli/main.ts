#!/usr/bin/env node
import { Interrupted, SIGINT_EXIT, SIGTERM_EXIT } from './io.ts'
import { run } from './program.ts'

const stop = new AbortController()
const interrupt = (exitCode: number) => (): void => {
  // The first asks to stop cleanly; the second means that somebody has lost patience.
  if (stop.signal.aborted) process.exit(exitCode)
  stop.abort(new Interrupted(exitCode))
}
process.on('SIGINT', interrupt(SIGINT_EXIT))
process.on('SIGTERM', interrupt(SIGTERM_EXIT))
// `svc keys list | head` closes the pipe early, which is no fault of anybody.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await run(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  cwd: process.cwd(),
  signal: stop.signal,
})
