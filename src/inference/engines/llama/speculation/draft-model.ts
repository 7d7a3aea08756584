import { InferenceError } from '../../../errors.ts'
import type { Speculation } from '../../engine.ts'
import { type BatchContext, openContext } from '../binding/batch-context.ts'
import { type LlamaModel, loadModel } from '../binding/load-model.ts'
import type { Sampler } from '../binding/token-sampler.ts'
import type { Proposer } from './speculator.ts'

export interface DraftModelSettings {
  readonly kind: Speculation['kind']
  readonly path: string
  readonly slots: number
  readonly contextTokens: number
  readonly threads: number
  /** The model to draft for. */
  readonly model: LlamaModel
}

const BATCH_TOKENS = 512

/** Opens a small model with the same vocabulary that proposes tokens for the large one, with one sequence per slot. */
export const openDraftModel = async (settings: DraftModelSettings): Promise<Proposer> => {
  const draft = await loadModel(settings.path, settings.model.addon)
  if (!sameVocabulary(draft, settings.model))
    throw new InferenceError(
      'invalid_model',
      `The draft model '${settings.path}' has a different vocabulary than the model it drafts for. Use one of the same family.`,
    )
  const context = await openContext(draft, { ...settings, batchTokens: BATCH_TOKENS })
  const sampler = context.createSampler({ temperature: 0, topP: 1, seed: 1, grammar: null })
  /** The tokens in each slot's sequence. */
  const held: number[][] = Array.from({ length: settings.slots }, () => [])
  return {
    kind: settings.kind,
    propose: async (slot, tokens, max) => {
      const room = Math.min(max, settings.contextTokens - tokens.length)
      if (room < 1) return []
      const follow = createFollower(context, sampler, slot, held[slot]!)
      const guess: number[] = []
      let next = await follow(tokens)
      while (next >= 0 && !draft.endsGeneration(next)) {
        guess.push(next)
        if (guess.length >= room) break
        next = await follow([...tokens, ...guess])
      }
      return guess
    },
    close: async () => {
      sampler.dispose()
      await context.close()
      await draft.handle.dispose()
    },
  }
}

/** Returns a function that updates the slot's sequence to a text and returns the draft's next token. */
const createFollower =
  (context: BatchContext, sampler: Sampler, slot: number, held: number[]) =>
  async (tokens: readonly number[]): Promise<number> => {
    let shared = 0
    while (shared < held.length && held[shared] === tokens[shared]) shared++
    // The last token is always computed, because it predicts the next one.
    shared = Math.min(shared, tokens.length - 1)
    if (shared < held.length && !context.truncate(slot, shared)) shared = 0
    held.length = shared
    let outputs: readonly Uint32Array[] = []
    for (let at = shared; at < tokens.length; at += BATCH_TOKENS) {
      const part = Uint32Array.from(tokens.slice(at, at + BATCH_TOKENS))
      const last = at + part.length === tokens.length
      const requested = Uint32Array.from(last ? [part.length - 1] : [])
      outputs = await context.decode([{ sequence: slot, position: at, tokens: part, outputs: requested }])
      held.push(...part)
    }
    return sampler.next(outputs[0]![0]!)
  }

const sameVocabulary = (draft: LlamaModel, model: LlamaModel): boolean => {
  if (draft.vocabulary !== model.vocabulary) return false
  // Compares every hundredth token, because models of other families can have a vocabulary of the same size.
  for (let token = 0; token < model.vocabulary; token += Math.max(1, Math.floor(model.vocabulary / 100)))
    if (draft.handle.getTokenString(token) !== model.handle.getTokenString(token)) return false
  return true
}
