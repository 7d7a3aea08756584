import { spawn } from 'node:child_process'

// Runs between svc and a program that does not know about it. When svc ends for any reason, the channel to it closes, and this
// process ends the program with everything that it started, so that no unreachable model stays in memory.

const GRACE_MS = 3000

const [program, ...rest] = process.argv.slice(2)
const child = spawn(program!, rest, {
  // A separate process group, so that the whole group can be signaled.
  detached: process.platform !== 'win32',
  stdio: ['ignore', 'ignore', 'inherit'],
  windowsHide: true,
})

const signalGroup = (signal: NodeJS.Signals): void => {
  try {
    if (process.platform === 'win32') spawn('taskkill', ['/pid', String(child.pid), '/t', '/f'])
    else process.kill(-child.pid!, signal)
  } catch {
    // The group is empty.
  }
}

child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(127)
})
child.once('exit', (code, signal) => {
  signalGroup('SIGKILL')
  if (process.connected) process.send!({ code, signal }, () => process.exit(0))
  else process.exit(0)
})
const end = (): void => {
  signalGroup('SIGTERM')
  setTimeout(() => signalGroup('SIGKILL'), GRACE_MS)
}
// If the channel closed while this file was loading, its event has already passed.
if (process.connected) process.once('disconnect', end)
else end()
// Ctrl-C reaches the terminal's whole process group, but svc decides what to do.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
