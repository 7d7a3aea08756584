import type { Message } from './protocol.ts'

export const sendMessage = <Facts>(message: Message<Facts>): void => {
  if (process.connected) process.send?.(message)
}

/** Ends this process together with the one that started it. */
export const endWithParent = (): void => {
  // A regular exit would wait for the compute threads.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  // Ctrl-C reaches the whole process group, but the parent decides when this process ends.
  process.on('SIGINT', () => undefined)
}
