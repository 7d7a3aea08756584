import { InferenceError } from '../../errors.ts'
import type { GgufHeader } from '../../models/gguf/header.ts'
import { syntaxBeside, templateTools } from '../../structured-output/tool-syntax.ts'
import type { EngineEvent } from '../child/protocol.ts'
import type { ChatMessage, ChatRequest, Tool } from '../engine.ts'
import { createPromptWriter } from '../text/chat-prompt.ts'
import { createReasoningReader, mayReason, plainReply, reasoningIn, showMarks } from '../text/reasoning.ts'
import { createDetokenizer, cutAtStops } from '../text/text-stream.ts'
import { costsWhenIdle, measureCosts, processorClock } from './batch-costs.ts'
import { openContext } from './binding/batch-context.ts'
import { loadAddon } from './binding/load-addon.ts'
import { loadModel } from './binding/load-model.ts'
import { anyText } from './choice.ts'
import { textsOf, tokenizePrompt } from './completion-prompt.ts'
import { planMemory } from './memory-plan.ts'
import { createPrefixCache } from './prefix-cache.ts'
import { createResponseRules, isAnyText, isTriggerable } from './response-grammars.ts'
import { createScheduler } from './scheduler.ts'
import type { ModelFacts, Settings } from './settings.ts'
import { createSlotManager } from './slot-manager.ts'
import { openSpeculator } from './speculation/open-speculator.ts'
import { createTokenLog } from './token-log.ts'

/** A loaded model that generates text. */
export interface Runner {
  readonly facts: ModelFacts
  chat(id: number, request: ChatRequest): void
  cancel(id: number): void
  countTokens(messages: readonly ChatMessage[], tools?: readonly Tool[]): number
}

export interface Listener {
  onEvents(events: readonly EngineEvent[]): void
  figures(figures: Readonly<Record<string, number>>): void
  warn(message: string): void
}

/** Slots beyond this size get their memory when requests first run in parallel. */
const FIRST_BYTES = 32 * 2 ** 20

// On CPUs, larger batches do not compute prompts faster, and make other streams wait.
const BATCH_TOKENS = 256

/** The context length for measuring batches. */
const MEASURED_TOKENS = 32

/** A user who has just started a large model waits for one answer, so other slots are prepared only if none is requested. */
const PREPARE_AFTER_MS = 500

// Longer than any token.
const MAX_TOKEN_LENGTH = 512

const tooLong = (subject: 'messages' | 'prompt', size: string, contextTokens: number, most: number): InferenceError => {
  const amount = subject === 'messages' ? 'amount' : 'amounts'
  const longer = most > contextTokens ? `, or use a longer --context, up to ${most} tokens` : ''
  return new InferenceError(
    'context_length_exceeded',
    `The ${subject} ${amount} to ${size}, and the context of ${contextTokens} tokens must also hold the reply. Shorten the ${subject}${longer}.`,
    { param: subject },
  )
}

const ANY_TEXT = { grammar: null, trigger: null, closing: anyText, reader: null } as const

/**
 * @param firstBytes memory for keys and values at the start, unless slots or a context length are requested; one slot always
 * gets its own
 */
export const openRunner = async (
  settings: Settings,
  header: GgufHeader,
  listener: Listener,
  firstBytes = FIRST_BYTES,
): Promise<Runner> => {
  const model = await loadModel(settings.path, await loadAddon(settings.gpuModule), { header, adapters: settings.lora })
  const { firstSlots, ...plan } = planMemory(settings, model, firstBytes)
  const batchTokens = Math.max(BATCH_TOKENS, plan.slots)
  // Not on a graphics card, which may have no room for a small and a large context at once.
  const [context, writePrompt] = await Promise.all([
    openContext(model, {
      ...plan,
      ...(!model.addon.getGpuType() && { firstSlots }),
      batchTokens,
      threads: settings.threads,
    }),
    // Searches the vocabulary while llama.cpp creates the context.
    createPromptWriter(model),
  ])
  // CPU time does not include a graphics card's work.
  const clock = model.addon.getGpuType() ? () => performance.now() : processorClock(settings.threads)
  const { syntax } = templateTools(model.chatTemplate)
  const reasons = mayReason(model.chatTemplate)
  const detokenize = reasons ? showMarks((text) => model.tokenize(text, true), model.detokenize) : model.detokenize
  const cache = createPrefixCache({
    context,
    slots: plan.slots,
    budgetBytes: settings.cacheBytes,
    bytesPerToken: model.cacheBytesPerToken,
    plainCache: model.plainCache,
  })
  const rulesOf = createResponseRules(context, model, syntax)
  const slotManager = createSlotManager(plan.slots, context, cache)
  // Speculation needs the costs now. Without it, they are measured while idle.
  const measured = settings.draft === null ? null : await measureCosts(context, clock)
  const costs =
    measured ??
    costsWhenIdle({
      open: () =>
        openContext(model, { slots: 1, contextTokens: MEASURED_TOKENS, batchTokens: 8, threads: settings.threads }),
      clock,
      isIdle: () => scheduler.isIdle(),
    })
  const speculator =
    settings.draft === null
      ? null
      : await openSpeculator({ ...settings, ...plan, draft: settings.draft, model, costs, warn: listener.warn })
  const scheduler = createScheduler({
    ...plan,
    ...listener,
    context,
    slotManager,
    cache,
    speculator,
    batchTokens,
    model,
    costs,
  })
  setTimeout(() => scheduler.prepare(), PREPARE_AFTER_MS).unref()
  return {
    facts: {
      parameters: model.parameters,
      contextTokens: plan.contextTokens,
      slots: plan.slots,
      memoryBytes: model.weightBytes + context.memoryBytes,
      toolSyntax: syntax,
    },
    chat: (id, request) => {
      const { completion, logprobs } = request
      const refuse = (size: string): InferenceError =>
        tooLong(completion ? 'prompt' : 'messages', size, plan.contextTokens, model.trainContextTokens)
      const characters = request.messages.reduce((sum, { content }) => sum + content.length, 0)
      // Tokenizing a whole book only to refuse it would block all streams.
      if (characters > plan.contextTokens * MAX_TOKEN_LENGTH) throw refuse(`${characters} characters`)
      // A grammar that applies from the first token leaves no room for reasoning.
      const isFree = isAnyText(request) || isTriggerable(request)
      const { tokens, beginsReasoning } = completion
        ? { tokens: tokenizePrompt(model, completion), beginsReasoning: false }
        : writePrompt(request.messages, request.toolUse?.tools, isFree ? reasoningIn(request.reasoning) : false)
      const prompt = [...tokens]
      const room = plan.contextTokens - prompt.length
      // An answer needs at least one token.
      if (room < 1) throw refuse(`${prompt.length} tokens`)
      const { temperature, topP, seed, stop, sampling = {} } = request
      const limit = Math.max(1, Math.min(request.maxTokens ?? room, room))
      const echo = completion?.echo ? textsOf(model, completion.prompt, prompt) : null
      const { grammar, trigger, closing, reader } = isAnyText(request) ? ANY_TEXT : rulesOf(request, limit)
      scheduler.add({
        id,
        promptTokens: prompt.length,
        tokens: prompt,
        limit: prompt.length + limit,
        request,
        sampler: context.createSampler({ temperature, topP, seed, sampling, grammar, trigger }),
        text: cutAtStops(
          reader ?? createDetokenizer(detokenize, completion ? prompt.slice(-1) : []),
          stop,
          request.toolUse ? syntaxBeside(request.responseFormat, syntax) : null,
        ),
        reply:
          (reasons || beginsReasoning) && isFree && !completion
            ? createReasoningReader(beginsReasoning, request.toolUse && syntax.anywhere ? syntax.trigger : null)
            : plainReply,
        closing,
        ...(logprobs !== undefined && {
          log: createTokenLog(model, logprobs, echo && { first: prompt[0]!, texts: echo }),
        }),
        ...(echo && { echo: typeof completion!.prompt === 'string' ? completion!.prompt : echo.join('') }),
        filled: 0,
        cachedTokens: 0,
        drafts: [],
        speculation: null,
        started: false,
        reasoningTokens: 0,
        over: false,
      })
    },
    cancel: (id) => scheduler.cancel(id),
    countTokens: (messages, tools) => writePrompt(messages, tools).tokens.length,
  }
}
