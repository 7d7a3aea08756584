import { cpus, freemem, loadavg, totalmem } from 'node:os'

const rounded = (value: number): number => Math.round(value * 10) / 10

/** The machine's load, averaged over a minute, and memory use, with the names that the dashboard shows. */
export const systemMetrics = (): { readonly cpu_usage_percent: number; readonly memory_usage_percent: number } => ({
  cpu_usage_percent: rounded(Math.min(100, ((loadavg()[0] ?? 0) / Math.max(1, cpus().length)) * 100)),
  memory_usage_percent: rounded((1 - freemem() / totalmem()) * 100),
})
