import { isTriggered, type ToolSyntax } from '../../../structured-output/tool-syntax.ts'
import type { Sampling } from '../../engine.ts'
import type { AddonSampler } from './addon.ts'
import type { LlamaModel } from './load-model.ts'

/** Chooses the next token, with its own random numbers. */
export interface Sampler {
  /** `output` is one of those that the last `decode` returned. */
  next(output: number): Promise<number>
  dispose(): void
}

/** A grammar that llama.cpp has parsed. Several samplers can share it. */
export type SamplerGrammar = object

export interface SamplerSettings {
  readonly temperature: number
  readonly topP: number
  readonly seed: number
  readonly sampling?: Sampling
  /** null allows any text. */
  readonly grammar: SamplerGrammar | null
  /** Applies the grammar only after its trigger; without one, it applies from the first token. */
  readonly trigger?: GrammarTrigger | null
}

/** Defines where in a text a grammar starts to apply. */
export interface GrammarTrigger {
  /** The bytes of a token as a string with one character per byte. */
  textOf(token: number): string
  readonly syntax: ToolSyntax
}

/** Longer than a trigger and a token together. */
const TAIL = 1024

/** Longer than most replies: how many of its last tokens penalties count. */
const PENALIZED_TOKENS = 65_536

/** @param written the tokens of the reply so far */
const configOf = (sampling: Sampling, written: readonly number[]): object => {
  const { top_k: topK, min_p: minP, presence_penalty: presence = 0, frequency_penalty: frequency = 0 } = sampling
  const repeat = sampling.repeat_penalty ?? sampling.repetition_penalty ?? 1
  return {
    ...(topK !== undefined && { topK }),
    ...(minP !== undefined && { minP }),
    ...((presence !== 0 || frequency !== 0 || repeat !== 1) && {
      repeatPenaltyTokens: Uint32Array.from(written),
      repeatPenaltyMaxTokens: PENALIZED_TOKENS,
      repeatPenalty: repeat,
      repeatPenaltyPresencePenalty: presence,
      repeatPenaltyFrequencyPenalty: frequency,
    }),
  }
}

// llama.cpp takes this seed for "use the clock".
const CLOCK_SEED = 0xffffffff

export const openSampler = (
  { addon, handle, endsGeneration }: Pick<LlamaModel, 'addon' | 'handle' | 'endsGeneration'>,
  sampleToken: (output: number, sampler: AddonSampler) => Promise<number>,
  { temperature, topP, seed, sampling = {}, grammar, trigger = null }: SamplerSettings,
): Sampler => {
  const make = (state: object | null, written: readonly number[] = []): AddonSampler => {
    const sampler = new addon.AddonSampler(handle)
    sampler.applyConfig({
      temperature,
      topP,
      seed: seed === CLOCK_SEED ? CLOCK_SEED - 1 : seed,
      ...configOf(sampling, written),
      ...(state !== null && { grammarEvaluationState: state }),
    })
    return sampler
  }
  const newState = (): object => new addon.AddonGrammarEvaluationState(handle, grammar!)
  if (grammar === null || trigger === null) {
    const sampler = make(grammar === null ? null : newState())
    return { next: (output) => sampleToken(output, sampler), dispose: () => sampler.dispose() }
  }

  let sampler = make(null)
  let free = true
  const written: number[] = []
  let text = ''
  const { textOf, syntax } = trigger

  /** Returns the grammar's state after the tokens that contain the trigger, except the last. */
  const stateBehind = (): object => {
    let start = written.length
    for (let read = ''; start > 0 && !isTriggered(syntax, read); ) read = textOf(written[--start]!) + read
    const state = newState()
    for (const token of written.slice(start, -1)) addon.AddonSampler.acceptGrammarEvaluationStateToken(state, token)
    return state
  }

  return {
    next: async (output) => {
      const token = await sampleToken(output, sampler)
      if (!free || token < 0 || endsGeneration(token)) return token
      written.push(token)
      text = (syntax.anywhere ? text.slice(-TAIL) : text) + textOf(token)
      if (!isTriggered(syntax, text)) return token
      free = false
      const state = stateBehind()
      sampler.dispose()
      sampler = make(state, written)
      // The rest of the trigger's token may not be a valid start of a call. In that case, the token is sampled again.
      if (!addon.AddonSampler.canBeNextTokenForGrammarEvaluationState(state, token)) return sampleToken(output, sampler)
      addon.AddonSampler.acceptGrammarEvaluationStateToken(state, token)
      return token
    },
    dispose: () => sampler.dispose(),
  }
}
