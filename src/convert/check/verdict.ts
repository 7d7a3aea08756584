import { sizeWords } from '../../domain/sizes.ts'
import type { DeviceProfile, Runtime } from './device-profiles.ts'
import type { ModelProfile } from './model-profile.ts'

/** The shares of peak bandwidth and peak arithmetic that engines reach in measurements. */
const REACHED_BANDWIDTH = 0.6
const REACHED_FLOPS = 0.3
/** Per token or input, for models of any size: starting steps and fetching results. */
const OVERHEAD_SECONDS = 1e-4
/** If more than this share of the usable memory is needed, little else can run. */
const TIGHT = 0.8

export interface Memory {
  readonly weights: number
  /** null if unknown, in which case it is not counted. */
  readonly activations: number | null
  readonly cache: number
  readonly total: number
}

export interface DeviceVerdict {
  readonly device: DeviceProfile
  readonly verdict: 'runs' | 'tight' | 'does not run'
  /** Why it does not run or is tight. */
  readonly reason: string | null
  readonly runtime: Runtime | null
  readonly usableBytes: number
  /** For a language model, at the end of the context. */
  readonly tokensPerSecond: number | null
  readonly inputsPerSecond: number | null
}

export const memoryOf = (model: ModelProfile, contextTokens: number): Memory => {
  const cache = (model.languageModel?.cacheBytesPerToken ?? 0) * contextTokens
  const { weightBytes: weights, activationBytes: activations } = model
  return { weights, activations, cache, total: weights + (activations ?? 0) + cache }
}

/**
 * Decides whether the model runs on the device: it needs a runtime and enough memory. The speed is an estimate: weights (of a
 * language model also the cache) are read once per input or token, unless the multiplications take longer.
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
