import { availableParallelism, totalmem } from 'node:os'
import { DEVICE_PROFILES, type DeviceProfile } from '../../convert/check/device-profiles.ts'
import { inspectModel } from '../../convert/check/inspect-model.ts'
import type { ModelProfile } from '../../convert/check/model-profile.ts'
import { type DeviceVerdict, judge, type Memory, memoryOf } from '../../convert/check/verdict.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { ExitCode } from '../exit-code.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import { modelAt } from './model-at.ts'

export interface CheckOptions {
  readonly devices?: readonly string[]
  readonly inputShape?: readonly number[]
  readonly context?: number
  readonly json?: true
}

const DEFAULT_CONTEXT = 4096

/**
 * Reads the file and prints for each device whether it would run, and how fast.
 * @throws ExitCode 1 if it would not run on a given device
 */
export const check = async (given: string, options: CheckOptions, session: Session): Promise<void> => {
  const { io, out } = session
  const devices = profilesOf(options.devices)
  const { path, isFolder } = await modelAt(given, io.cwd)
  if (isFolder) throw new Failure(`${given} is a folder.`, { advice: 'Give the path of a model file.' })
  const model = await inspectModel(path, options.inputShape)
  const context = contextOf(model, options.context)
  const memory = memoryOf(model, context)
  const verdicts = devices.map((device) => judge(model, device, context))
  if (options.json) out.json(jsonOf(given, model, context, memory, verdicts))
  else print(model, context, memory, verdicts, session)
  const fails = verdicts.some(({ verdict }) => verdict === 'does not run')
  if (options.devices !== undefined && fails) throw new ExitCode(1)
}

const profilesOf = (names: readonly string[] | undefined): readonly DeviceProfile[] => {
  if (names === undefined) return DEVICE_PROFILES
  return [...new Set(names)].map((name) => {
    const found = name === 'this' ? thisMachine() : DEVICE_PROFILES.find(({ id }) => id === name)
    if (found !== undefined) return found
    const known = ['this', ...DEVICE_PROFILES.map(({ id }) => id)].join(', ')
    throw wrongUsage(`There is no device profile '${name}'.`, `Known profiles: ${known}.`)
  })
}

/** Measures this machine's memory bandwidth by copying. Each byte counts twice: it is read and written. */
const measureBandwidth = (): number => {
  const bytes = 1 << 26
  const [from, to] = [Buffer.alloc(bytes, 1), Buffer.alloc(bytes, 2)]
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now()
    from.copy(to)
    return performance.now() - started
  })
  return (2 * bytes) / (Math.min(...times) / 1000)
}

const thisMachine = (): DeviceProfile => ({
  id: 'this',
  name: 'this machine',
  kind: 'laptop',
  memoryBytes: totalmem(),
  usableShare: 0.75,
  bandwidth: measureBandwidth(),
  // 8 lanes, with a fused multiply-add each, at 2.5 GHz.
  flops: availableParallelism() * 16 * 2.5e9,
  runtimes: ['llama.cpp', 'onnxruntime', 'tflite', ...(process.platform === 'darwin' ? (['coreml'] as const) : [])],
  source: 'measured now',
})

const contextOf = ({ languageModel }: ModelProfile, requested: number | undefined): number => {
  if (languageModel === null) {
    if (requested !== undefined) throw wrongUsage('--context applies only to language models in GGUF.', 'Leave it out.')
    return 0
  }
  const most = languageModel.contextTokens
  if (requested !== undefined && requested > most)
    throw wrongUsage(`--context ${requested} is more than the ${most} tokens that the model was trained for.`)
  return requested ?? Math.min(DEFAULT_CONTEXT, most)
}

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(3)))

const jsonOf = (
  path: string,
  model: ModelProfile,
  context: number,
  memory: Memory,
  verdicts: readonly DeviceVerdict[],
) => ({
  model: path,
  format: model.title.replace(/^an? /, ''),
  parameters: model.parameters,
  operators: model.operators,
  multiplications: model.multiplications,
  memory: {
    weights_bytes: memory.weights,
    activations_bytes: memory.activations,
    cache_bytes: memory.cache,
    total_bytes: memory.total,
  },
  language_model: model.languageModel && {
    architecture: model.languageModel.architecture,
    trained_context_tokens: model.languageModel.contextTokens,
    context_tokens: context,
  },
  runtimes: model.runtimes.map(({ runtime, isSupported, unsupportedOperators, note }) => ({
    runtime,
    supported: isSupported,
    unsupported_operators: unsupportedOperators,
    note,
  })),
  notes: model.notes,
  devices: verdicts.map(({ device, verdict, reason, runtime, usableBytes, tokensPerSecond, inputsPerSecond }) => ({
    device: device.id,
    name: device.name,
    verdict,
    reason,
    runtime,
    memory_bytes: device.memoryBytes,
    usable_bytes: Math.floor(usableBytes),
    tokens_per_second: rounded(tokensPerSecond),
    inputs_per_second: rounded(inputsPerSecond),
    source: device.source,
  })),
})

const speedWords = ({ tokensPerSecond, inputsPerSecond }: DeviceVerdict): string | null => {
  if (tokensPerSecond !== null) return `${rounded(tokensPerSecond)} tokens/s`
  return inputsPerSecond === null ? null : `${rounded(inputsPerSecond)} inputs/s`
}

const print = (
  model: ModelProfile,
  context: number,
  memory: Memory,
  verdicts: readonly DeviceVerdict[],
  { out }: Session,
): void => {
  const operators = model.operators && Object.entries(model.operators).map(([name, count]) => `${name} ${count}`)
  const unknown = 'not known'
  out.fields([
    ['Format', model.title.replace(/^an? /, '')],
    ['Parameters', model.parameters.toLocaleString('en-US')],
    operators !== null && ['Operators', operators.join(', ')],
    ['Weights', sizeWords(memory.weights)],
    ['Activations', memory.activations === null ? unknown : sizeWords(memory.activations)],
    model.languageModel !== null && ['Cache', `${sizeWords(memory.cache)} for ${context} tokens of context`],
    ['Memory', sizeWords(memory.total)],
    ...model.runtimes.map(({ runtime, isSupported, unsupportedOperators, note }) => {
      const missing = unsupportedOperators.length === 0 ? '' : `: ${unsupportedOperators.join(', ')}`
      const words = isSupported ? (note ?? 'yes') : `no${missing}${note === null ? '' : `. ${note}`}`
      return [runtime, words] as const
    }),
  ])
  for (const note of model.notes) out.note(note)
  out.line('')
  out.table(
    ['DEVICE', 'NAME', 'VERDICT', 'SPEED', 'REASON'],
    verdicts.map((one) => [one.device.id, one.device.name, one.verdict, speedWords(one), one.reason]),
  )
}
