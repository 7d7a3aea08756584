import { cpus, freemem, loadavg, totalmem } from 'node:os'
import { anySignal } from '../domain/any-signal.ts'
import { NetworkError } from '../sdk/api-error.ts'
import type { Device } from '../sdk/device.ts'
import { hasEnough, NotNeeded } from '../sdk/not-needed.ts'
import { sleep } from '../sdk/retry.ts'
import type { Deliveries } from './delivery/deliveries.ts'
import type { RoundResult } from './round-work.ts'

const rounded = (value: number): number => Math.round(value * 10) / 10

/** The machine's load, averaged over a minute, and memory use, with the names that the dashboard shows. */
const systemMetrics = (): { readonly cpu_usage_percent: number; readonly memory_usage_percent: number } => ({
  cpu_usage_percent: rounded(Math.min(100, ((loadavg()[0] ?? 0) / Math.max(1, cpus().length)) * 100)),
  memory_usage_percent: rounded((1 - freemem() / totalmem()) * 100),
})

/** What a heartbeat reports: the machine's load, and how the global model of the latest round did on this device. */
export const metricsOf = (latest: RoundResult | null) => ({
  ...systemMetrics(),
  ...(latest?.globalModel && {
    round_number: latest.roundNumber,
    global_model_loss: latest.globalModel.loss,
    global_model_accuracy: latest.globalModel.accuracy,
  }),
})

export interface HeartbeatLoop {
  readonly device: Device
  readonly deliveries: Pick<Deliveries, 'known' | 'take'>
  readonly roundId: string
  readonly intervalSeconds: number
  readonly signal: AbortSignal
  readonly log: (message: string) => void
}

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
  const sendHeartbeat = async (): Promise<void> => {
    for (;;) {
      await sleep(intervalSeconds * 1000, quiet)
      const options = { signal: quiet, knownAssignments: deliveries.known() }
      const response = await device.heartbeat({ training: true }, options)
      deliveries.take(response)
      if (response.pendingRoundId === roundId) continue
      const status = await device.roundStatus(roundId, { signal: quiet })
      const reason = `The round is already ${status}; training was stopped.`
      if (status !== 'active') over.abort(hasEnough(status) ? new NotNeeded(reason) : new Error(reason))
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
