import { anySignal } from '../domain/any-signal.ts'
import { conflict } from '../domain/errors.ts'
import { NetworkError } from '../sdk/api-error.ts'
import type { Device } from '../sdk/device.ts'
import { hasEnough, NotNeeded } from '../sdk/not-needed.ts'
import { sleep } from '../sdk/retry.ts'
import type { Deliveries } from './delivery/deliveries.ts'

export interface HeartbeatLoop {
  readonly device: Device
  readonly deliveries: Pick<Deliveries, 'known' | 'take'>
  readonly roundId: string
  readonly intervalSeconds: number
  readonly signal: AbortSignal
  readonly log: (message: string) => void
}

/** A round that takes longer has heartbeats, so that the service notices if the device is gone. */
const FIRST_SECONDS = 2
const USUAL_SECONDS = 20

/** Grows slowly to a long interval: the service gives up a device after three times its latest one, and at least a minute. */
export const nextRest = (rest: number, intervalSeconds: number): number =>
  Math.min(intervalSeconds, Math.max(USUAL_SECONDS, 2 * rest))

/**
 * Works on a round while sending heartbeats, so that a device in a long training still counts as active. The work's signal is
 * aborted when `signal` is, and when the round has ended without this device. Resolves or rejects like the work.
 */
export const withHeartbeats = async <T>(
  beating: HeartbeatLoop,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const { device, deliveries, roundId, intervalSeconds, log } = beating
  const over = new AbortController()
  const finished = new AbortController()
  const quiet = anySignal(beating.signal, finished.signal)
  let rest = Math.min(FIRST_SECONDS, intervalSeconds)
  const sendHeartbeat = async (): Promise<void> => {
    for (;;) {
      await sleep(rest * 1000, quiet)
      const options = { signal: quiet, knownAssignments: deliveries.known() }
      const response = await device.heartbeat({ training: true }, options)
      rest = nextRest(rest, intervalSeconds)
      deliveries.take(response)
      if (response.pendingRoundId === roundId) continue
      const status = await device.roundStatus(roundId, { signal: quiet })
      const reason = `The round is already ${status}; training was stopped.`
      if (status !== 'active') over.abort(hasEnough(status) ? new NotNeeded(reason) : conflict(reason))
    }
  }
  const keepBeating = async (): Promise<void> => {
    while (!quiet.aborted && !over.signal.aborted) {
      await sendHeartbeat().catch((error: unknown) => {
        if (!quiet.aborted) log(`A heartbeat during training failed: ${(error as Error).message}`)
      })
    }
  }
  const running = keepBeating()
  try {
    return await work(anySignal(beating.signal, over.signal))
  } finally {
    finished.abort(new NetworkError('The round is finished.'))
    await running
  }
}
