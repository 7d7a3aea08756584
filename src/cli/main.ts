#!/usr/bin/env node
import { startAhead } from '../inference/engines/child/engine-process.ts'
import { LLAMA_PROGRAM } from '../inference/engines/llama/settings.ts'
import { sendThroughProxy } from '../platform/transfer/proxy.ts'
import { Interrupted, type StopSignal } from './io.ts'
import { pagerOf } from './pager.ts'

const argv = process.argv.slice(2)
// Starts the process for most models early, while the rest of this program loads.
if (['run', 'serve'].includes(argv[0] ?? '') && !argv.some((word) => word === '--help' || word === '-h'))
  startAhead(LLAMA_PROGRAM)

const stop = new AbortController()
const interrupt = (signal: StopSignal): void => {
  const interrupted = new Interrupted(signal)
  // The first signal asks for a clean stop; the second one exits immediately. A terminal that closes may send two.
  if (stop.signal.aborted && signal !== 'SIGHUP') process.exit(interrupted.exitCode)
  stop.abort(interrupted)
}
process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)
process.on('SIGHUP', interrupt)
// Messages that cannot be shown, such as to a closed terminal.
process.stderr.on('error', () => undefined)
// `svc keys list | head` closes the pipe early, which is not an error.
process.stdout.on('error', async (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  // The terminal was closed, which also sends SIGHUP.
  if (error.code === 'EIO' && process.stdout.isTTY) return
  const { fileReason } = await import('./file-errors.ts')
  console.error(`svc: Standard output cannot be written: ${fileReason(error) ?? error.message}.`)
  process.exit(1)
})

const currentFolder = (): string => {
  try {
    return process.cwd()
  } catch {
    console.error('svc: The current folder was deleted. Change to another folder, and run this again.')
    return process.exit(1)
  }
}
const cwd = currentFolder()

await sendThroughProxy(process.env).catch((error: Error) => {
  console.error(`svc: ${error.message}`)
  process.exit(1)
})
const { run } = await import('./program.ts')
process.exitCode = await run(argv, {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  cwd,
  pager: pagerOf(process.env),
  signal: stop.signal,
})
// By the signal itself: at a normal exit, Node restores the terminal, and aborts if that is closed.
if (stop.signal.reason instanceof Interrupted && stop.signal.reason.signal === 'SIGHUP') {
  process.off('SIGHUP', interrupt)
  process.kill(process.pid, 'SIGHUP')
}
