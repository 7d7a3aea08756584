import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from './session.ts'

/** Waits before it is looked again. @throws what Ctrl-C aborts with, after a note of what goes on without the command */
export const waitForNextPoll = async ({ io, out }: Session, afterMs: number, goesOn: string): Promise<void> => {
  await sleep(afterMs, undefined, io.signal && { signal: io.signal }).catch(() => {
    if (io.signal?.aborted) out.note(goesOn)
    io.signal?.throwIfAborted()
  })
}
