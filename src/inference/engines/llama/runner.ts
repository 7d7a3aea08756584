import type { ChatMessage, ChatRequest } from '../../engine.ts'
import { InferenceError } from '../../errors.ts'
import { openContext } from './binding/batch-context.ts'
import { loadModel } from './binding/load-model.ts'
import { createPromptWriter } from './chat-prompt.ts'
import { planMemory } from './memory-plan.ts'
import type { Happening } from './protocol.ts'
import { createScheduler } from './scheduler.ts'
import type { ModelFacts, Settings } from './settings.ts'

/** A loaded model at work. */
export interface Runner {
  readonly facts: ModelFacts
  chat(id: number, request: ChatRequest): void
  cancel(id: number): void
  countTokens(messages: readonly ChatMessage[]): number
}

export interface Listener {
  happened(happenings: readonly Happening[]): void
  figures(figures: Readonly<Record<string, number>>): void
}

// The batch that computes prompts fastest on processors; larger ones only make the streams beside them wait.
const BATCH_TOKENS = 512

export const openRunner = async (settings: Settings, listener: Listener): Promise<Runner> => {
  const model = await loadModel(settings.path, settings.threads)
  const plan = planMemory(settings, model)
  const context = await openContext(model, { ...plan, batchTokens: BATCH_TOKENS, threads: settings.threads })
  const writePrompt = createPromptWriter(model)
  const scheduler = createScheduler({ ...plan, model, context, batchTokens: BATCH_TOKENS, listener })
  return {
    facts: {
      parameters: model.parameters,
      contextTokens: plan.contextTokens,
      slots: plan.slots,
      memoryBytes: model.weightBytes + context.memoryBytes,
    },
    chat: (id, request) => {
      const prompt = writePrompt(request.messages)
      // One token more: an answer has at least one.
      if (prompt.length + 1 > plan.contextTokens) {
        throw new InferenceError(
          'context_length_exceeded',
          `The messages become ${prompt.length} tokens, and the context of ${plan.contextTokens} tokens must also hold the answer. Shorten the messages.`,
          { param: 'messages' },
        )
      }
      scheduler.add(id, prompt, request)
    },
    cancel: (id) => scheduler.cancel(id),
    countTokens: (messages) => writePrompt(messages).length,
  }
}
