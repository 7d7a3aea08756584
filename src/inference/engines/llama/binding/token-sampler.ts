import { isTriggered, type ToolSyntax } from '../../../structured-output/tool-syntax.ts'
import type { AddonSampler } from './addon.ts'
import type { LlamaModel } from './load-model.ts'

/** Says which token comes next, with random numbers of its own. */
export interface Sampler {
  /** `answer` is one of those that `decode` returned last. */
  next(answer: number): Promise<number>
  dispose(): void
}

/** A grammar that llama.cpp has read; any number of samplers may have it. */
export type SamplerGrammar = object

export interface SamplerSettings {
  readonly temperature: number
  readonly topP: number
  readonly seed: number
  /** null: every text. */
  readonly grammar: SamplerGrammar | null
  /** Leaves the grammar out until it says that it holds from here on; absent: it holds from the first token. */
  readonly trigger?: GrammarTrigger | null
}

/** Where in a text a grammar begins to matter. */
export interface GrammarTrigger {
  /** The bytes of a token, as a text of one character for each. */
  textOf(token: number): string
  readonly syntax: ToolSyntax
}

/** More characters than a trigger and a token have. */
const TAIL = 1024

// llama.cpp takes this seed for "use the clock".
const CLOCK_SEED = 0xffffffff

type SamplingModel = Pick<LlamaModel, 'addon' | 'handle' | 'endsGeneration'>

export const openSampler = (
  { addon, handle, endsGeneration }: SamplingModel,
  sampleToken: (answer: number, sampler: AddonSampler) => Promise<number>,
  { temperature, topP, seed, grammar, trigger = null }: SamplerSettings,
): Sampler => {
  const make = (state: object | null): AddonSampler => {
    const sampler = new addon.AddonSampler(handle)
    sampler.applyConfig({
      temperature,
      topP,
      seed: seed === CLOCK_SEED ? CLOCK_SEED - 1 : seed,
      ...(state !== null && { grammarEvaluationState: state }),
    })
    return sampler
  }
  const newState = (): object => new addon.AddonGrammarEvaluationState(handle, grammar!)
  if (grammar === null || trigger === null) {
    const sampler = make(grammar === null ? null : newState())
    return { next: (answer) => sampleToken(answer, sampler), dispose: () => sampler.dispose() }
  }

  let sampler = make(null)
  let free = true
  const written: number[] = []
  let text = ''
  const { textOf, syntax } = trigger

  /** A state of the grammar behind the tokens that the trigger is in, without the last. */
  const stateBehind = (): object => {
    let start = written.length
    for (let read = ''; start > 0 && !isTriggered(syntax, read); ) read = textOf(written[--start]!) + read
    const state = newState()
    for (const token of written.slice(start, -1)) addon.AddonSampler.acceptGrammarEvaluationStateToken(state, token)
    return state
  }

  return {
    next: async (answer) => {
      const token = await sampleToken(answer, sampler)
      if (!free || token < 0 || endsGeneration(token)) return token
      written.push(token)
      text = (syntax.anywhere ? text.slice(-TAIL) : text) + textOf(token)
      if (!isTriggered(syntax, text)) return token
      free = false
      const state = stateBehind()
      sampler.dispose()
      sampler = make(state)
      // What follows the trigger in the same token may be no beginning of a call: then that token is chosen again.
      if (!addon.AddonSampler.canBeNextTokenForGrammarEvaluationState(state, token)) return sampleToken(answer, sampler)
      addon.AddonSampler.acceptGrammarEvaluationStateToken(state, token)
      return token
    },
    dispose: () => sampler.dispose(),
  }
}
