import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

// Runs between a process of ours and a program that does not know about it. When that process ends for any reason, the channel
// to it closes, and this process ends the program with everything that it started, so that nothing keeps running unnoticed.

const GRACE_MS = 5000
const LOOK_MS = 50

const [how, program, ...rest] = process.argv.slice(2)
const child = spawn(program!, rest, {
  shell: how === 'shell',
  // A separate process group, so that the whole group can be signaled.
  detached: process.platform !== 'win32',
  stdio: ['ignore', 'inherit', 'inherit'],
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

const groupExists = (): boolean => {
  try {
    return process.kill(-child.pid!, 0)
  } catch {
    return false
  }
}

/** Reports how the program ended, if there is still somebody to report to. */
const report = (exitCode: number | null, signal: NodeJS.Signals | null): void => {
  if (process.connected) process.send!({ exitCode, signal }, () => process.exit(0))
  else process.exit(0)
}

child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`)
  report(127, null)
})
let killAt = 0
child.once('exit', async (code, signal) => {
  // Most shells end at SIGTERM at once, before the command that they wait for.
  while (how === 'shell' && performance.now() < killAt && groupExists()) await sleep(LOOK_MS)
  signalGroup('SIGKILL')
  report(code, signal)
})
const end = (): void => {
  killAt = performance.now() + GRACE_MS
  signalGroup('SIGTERM')
  setTimeout(() => signalGroup('SIGKILL'), GRACE_MS)
}
// If the channel closed while this file was loading, its event has already passed.
if (process.connected) process.once('disconnect', end)
else end()
// Ctrl-C reaches the terminal's whole process group, but the process that started this one decides what to do.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
