import { arch, cpus, platform, totalmem } from 'node:os'
import type { BenchmarkResult } from './benchmark.ts'

export interface Hardware {
  readonly os: string
  readonly arch: string
  readonly cpuModel: string
  readonly cpuCores: number
  readonly memoryBytes: number
}

export const thisHardware = (): Hardware => {
  const all = cpus()
  return {
    os: platform(),
    arch: arch(),
    cpuModel: all[0]?.model.trim() || 'unknown',
    cpuCores: Math.max(1, all.length),
    memoryBytes: totalmem(),
  }
}

/** The kind of the model. Its name and exact size are not sent, because they may reveal its owner. */
export interface ModelKind {
  readonly architecture: string | null
  readonly parameters: number | null
  readonly variant: string | null
  readonly bytes: number
}

/** Common names of quantizations and number formats, so that no user-defined text is sent. */
const QUANTIZATION = /^(?:i?q\d(?:_(?:\d|k|s|m|l|xs|xxs|nl))*|(?:f|fp|bf)(?:16|32)|int[48]|\d{1,2}bit)$/i

const rounded = (value: number): number => Math.round(value * 10) / 10

/** Returns the fields that are sent. Each is a number or a word about hardware, a kind of model, or speed. */
export const sharedReport = (
  result: BenchmarkResult,
  { version, hardware, model }: { readonly version: string; readonly hardware: Hardware; readonly model: ModelKind },
) => ({
  svc_version: version,
  os: hardware.os,
  arch: hardware.arch,
  cpu_model: hardware.cpuModel.slice(0, 100),
  cpu_cores: hardware.cpuCores,
  memory_gb: Math.round(hardware.memoryBytes / 1e9),
  engine: result.engine,
  model_architecture: model.architecture?.slice(0, 100) || null,
  model_parameters: model.parameters,
  model_quantization: model.variant !== null && QUANTIZATION.test(model.variant) ? model.variant.toLowerCase() : null,
  model_megabytes: Math.round(model.bytes / 1e6),
  iterations: result.iterations,
  max_tokens: result.maxTokens,
  first_token_ms_p50: rounded(result.firstTokenMs.p50),
  first_token_ms_p90: rounded(result.firstTokenMs.p90),
  first_token_ms_p99: rounded(result.firstTokenMs.p99),
  tokens_per_second_p50: rounded(result.tokensPerSecond.p50),
  tokens_per_second_p90: rounded(result.tokensPerSecond.p90),
  tokens_per_second_p99: rounded(result.tokensPerSecond.p99),
  total_ms_p50: rounded(result.totalMs.p50),
  total_ms_p90: rounded(result.totalMs.p90),
  total_ms_p99: rounded(result.totalMs.p99),
  memory_megabytes: Math.round(result.memoryBytes / 1e6),
})

export type SharedReport = Readonly<ReturnType<typeof sharedReport>>
