import { InferenceError } from '../../../errors.ts'
import type { BatchCosts } from '../batch-costs.ts'
import type { LlamaModel } from '../binding/load-model.ts'
import type { DraftOptions } from '../settings.ts'
import { openDraftModel } from './draft-model.ts'
import { openFirstLayers } from './first-layers.ts'
import { createPromptLookup } from './prompt-lookup.ts'
import type { Proposer } from './proposer.ts'
import { createSpeculator, type Speculator } from './speculator.ts'

const GUESSES = 8

export interface SpeculationSettings {
  readonly draft: DraftOptions
  /** Of the full model. */
  readonly path: string
  readonly model: LlamaModel
  /** Of the full model's batches on this machine. */
  readonly costs: BatchCosts
  readonly slots: number
  readonly contextTokens: number
  readonly threads: number
}

/** Opens what makes guesses, switched on where they should gain by those costs. Throws InferenceError for a draft that does not fit. */
export const openSpeculator = async (settings: SpeculationSettings): Promise<Speculator> => {
  const proposer = await openProposer(settings)
  return createSpeculator(proposer, settings.costs, settings.draft.tokens ?? GUESSES)
}

const openProposer = async (settings: SpeculationSettings): Promise<Proposer> => {
  const { kind, path } = settings.draft
  if (kind === 'prompt-lookup') return createPromptLookup()
  if (kind === 'first-layers') return openFirstLayers(settings)
  if (path === undefined)
    throw new InferenceError('invalid_request', 'A draft model was asked for, but no file is named.')
  return openDraftModel({ ...settings, kind, path })
}
