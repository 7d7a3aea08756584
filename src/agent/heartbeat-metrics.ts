import { cpus, freemem, loadavg, totalmem } from 'node:os'
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
