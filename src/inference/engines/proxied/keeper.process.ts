import { spawn } from 'node:child_process'

// Stands between svc and a program that knows nothing of it: when svc is gone, however it went, the channel to it closes,
// and the program with everything it started is ended. So no model stays in memory that nobody can reach.

const GRACE_MS = 3000

const [program, ...rest] = process.argv.slice(2)
const child = spawn(program!, rest, {
  // A group of its own, which is what is signalled.
  detached: process.platform !== 'win32',
  stdio: ['ignore', 'ignore', 'inherit'],
  windowsHide: true,
})

const signalGroup = (signal: NodeJS.Signals): void => {
  try {
    if (process.platform === 'win32') spawn('taskkill', ['/pid', String(child.pid), '/t', '/f'])
    else process.kill(-child.pid!, signal)
  } catch {
    // Nobody is left in it.
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
// The channel may have closed while this file was loading: then the event has been, and nobody heard it.
if (process.connected) process.once('disconnect', end)
else end()
// Ctrl-C reaches everybody in the terminal's group; svc decides what it means.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
