#!/usr/bin/env node
import { Interrupted, type StopSignal } from './io.ts'
import { pagerOf } from './pager.ts'
import { run } from './program.ts'

const stop = new AbortController()
const interrupt = (signal: StopSignal): void => {
  const interrupted = new Interrupted(signal)
  // The first asks to stop cleanly; the second means that somebody does not want to wait.
  if (stop.signal.aborted) process.exit(interrupted.exitCode)
  stop.abort(interrupted)
}
process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)
// `svc keys list | head` closes the pipe early, which is no fault of anybody.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await run(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  cwd: process.cwd(),
  pager: pagerOf(process.env),
  signal: stop.signal,
})
