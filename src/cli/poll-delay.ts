import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from './session.ts'

/** Waits until the next poll. @throws the reason of a Ctrl-C, after printing what continues without the command */
export const waitForNextPoll = async ({ io, out }: Session, afterMs: number, goesOn: string): Promise<void> => {
  await sleep(afterMs, undefined, io.signal && { signal: io.signal }).catch(() => {
    if (io.signal?.aborted) out.note(goesOn)
    io.signal?.throwIfAborted()
  })
}
