import { sizeWords } from '../../domain/sizes.ts'
import type { DeviceProfile, Runtime } from './device-profiles.ts'
import type { ModelProfile } from './model-profile.ts'

/** Shares of the best bandwidth and of the best arithmetic that programs reach: what engines are measured at. */
const REACHED_BANDWIDTH = 0.6
const REACHED_FLOPS = 0.3
/** Of each token or input, whatever the model's size: steps are started and results are fetched. */
const OVERHEAD_SECONDS = 1e-4
/** Above this share of what a program may have, little else can run. */
const TIGHT = 0.8

export interface Memory {
  readonly weights: number
  /** null: not known, and not counted. */
  readonly activations: number | null
  readonly cache: number
  readonly total: number
}

export interface DeviceVerdict {
  readonly device: DeviceProfile
  readonly verdict: 'runs' | 'tight' | 'does not run'
  /** Why, where it does not run or is tight. */
  readonly reason: string | null
  readonly runtime: Runtime | null
  readonly usableBytes: number
  /** Of a language model, at the end of the context. */
  readonly tokensPerSecond: number | null
  readonly inputsPerSecond: number | null
}

export const memoryOf = (model: ModelProfile, contextTokens: number): Memory => {
  const cache = (model.languageModel?.cacheBytesPerToken ?? 0) * contextTokens
  const { weightBytes: weights, activationBytes: activations } = model
  return { weights, activations, cache, total: weights + (activations ?? 0) + cache }
}

/**
 * Whether the model runs on the device: it has a runtime for it, and the memory. The speed is an estimate: of a language model, weights
 * and cache are read once for each token; of others, weights are read once, or their multiplications take longer.
 */
export const judge = (model: ModelProfile, device: DeviceProfile, contextTokens: number): DeviceVerdict => {
  const memory = memoryOf(model, contextTokens)
  const usableBytes = device.memoryBytes * device.usableShare
  const fits = model.runtimes.filter(({ runtime }) => device.runtimes.includes(runtime))
  const runtime = fits.find(({ isSupported }) => isSupported)?.runtime ?? null
  const base = { device, runtime, usableBytes, tokensPerSecond: null, inputsPerSecond: null }
  const not = (reason: string): DeviceVerdict => ({ ...base, verdict: 'does not run', reason })
  if (model.runtimes.length > 0 && runtime === null) {
    const refused = fits[0]
    const wanted = model.runtimes.map((one) => one.runtime).join(' or ')
    return not(refused === undefined ? `It has no ${wanted}.` : whyNot(refused))
  }
  if (memory.total > usableBytes)
    return not(`It needs ${sizeWords(memory.total)}; a program on this device can use ${sizeWords(usableBytes)}.`)
  const bandwidth = device.bandwidth * REACHED_BANDWIDTH
  const arithmetic = ((model.multiplications ?? 0) * 2) / (device.flops * REACHED_FLOPS)
  const read = model.languageModel === null ? memory.weights : model.languageModel.bytesPerToken + memory.cache
  const isKnown = runtime !== null && model.multiplications !== null
  const speed = isKnown ? 1 / (Math.max(read / bandwidth, arithmetic) + OVERHEAD_SECONDS) : null
  const isTight = memory.total > usableBytes * TIGHT
  return {
    ...base,
    verdict: isTight ? 'tight' : 'runs',
    reason: isTight ? `It needs ${sizeWords(memory.total)} of ${sizeWords(usableBytes)}: little else can run.` : null,
    tokensPerSecond: model.languageModel === null ? null : speed,
    inputsPerSecond: model.languageModel === null ? speed : null,
  }
}

const whyNot = ({ runtime, unsupportedOperators, note }: ModelProfile['runtimes'][number]): string =>
  unsupportedOperators.length === 0
    ? (note ?? `${runtime} cannot run it.`)
    : `${runtime} cannot run ${unsupportedOperators.join(', ')}.${note === null ? '' : ` ${note}`}`
