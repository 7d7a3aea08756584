import type { ChildProcess } from 'node:child_process'

export const STOP = 'stop'

/** Asks the service, started with a channel, to stop cleanly. On Windows, SIGTERM would kill it, so a message stands for it. */
export const askToEnd = (child: ChildProcess): void => {
  if (process.platform === 'win32') child.send(STOP, () => undefined)
  else child.kill('SIGTERM')
}
