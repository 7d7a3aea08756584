import { randomInt } from 'node:crypto'
import type { ChatMessage, ChatRequest, Engine, ResponseFormat } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import type { SchemaCompiler } from '../structured-output/schema-compiler.ts'
import type { Admissions } from './admissions.ts'
import type { ChatOrder } from './chat.schema.ts'
import type { Compress, Lease, ModelSource, Route } from './model-source.ts'
import { type ChoiceEvent, runChoices } from './run-choices.ts'

export const AUTO = 'auto'

export interface ChatDeps {
  readonly source: ModelSource
  /** null: `auto` is a model like any other, and not there. */
  readonly route: Route | null
  readonly compress: Compress | null
  readonly admissions: Admissions
  readonly schemas: SchemaCompiler
}

/** A chat whose model is loaded and which has its places, or a place in the queue. */
export interface ChatRun {
  readonly model: string
  /** Why the model was chosen, where the client left that to us. */
  readonly routed: string | null
  /** Prompt tokens that compression took out; null where it did nothing. */
  readonly removedTokens: number | null
  readonly events: AsyncIterable<ChoiceEvent>
}

const LARGEST_SEED = 2 ** 32 - 1
/** Odd, so that as many choices as there are numbers get different seeds: 2^32 divided by the golden ratio. */
const SEED_STEP = 0x9e3779b9

/** The seed of one choice; of the first the one that was asked for. Never 2^32 - 1, by which llama.cpp means any. */
export const seedOf = (base: number, choice: number): number => {
  const seed = Number((BigInt(base) + BigInt(choice) * BigInt(SEED_STEP)) & 0xffffffffn)
  return seed === LARGEST_SEED ? seed >>> 1 : seed
}

const requestsOf = (
  order: ChatOrder,
  responseFormat: ResponseFormat,
  messages: readonly ChatMessage[],
  engine: Engine,
): ChatRequest[] => {
  const { maxTokens, temperature, topP, stop } = order
  const { contextTokens } = engine.model
  const base = order.seed ?? randomInt(LARGEST_SEED)
  return Array.from({ length: order.choices }, (_, choice) => ({
    messages,
    maxTokens: maxTokens === null || contextTokens === 0 ? maxTokens : Math.min(maxTokens, contextTokens),
    temperature,
    topP,
    seed: seedOf(base, choice),
    stop,
    responseFormat,
  }))
}

const assertChats = (engine: Engine): void => {
  if (engine.chat !== undefined) return
  throw new InferenceError('unsupported', `The model '${engine.model.name}' does not chat.`, { param: 'model' })
}

/** On average over a whole prompt no vocabulary comes near it. */
const MAX_CHARACTERS_PER_TOKEN = 64

/** Counting the tokens of megabytes would keep the engine from everybody else for seconds. */
const assertMayFit = (messages: readonly ChatMessage[], { model: { contextTokens } }: Engine): void => {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0)
  if (contextTokens === 0 || characters <= contextTokens * MAX_CHARACTERS_PER_TOKEN) return
  throw new InferenceError(
    'context_length_exceeded',
    `The messages have ${characters} characters, far more than a context of ${contextTokens} tokens holds. Shorten them.`,
    { param: 'messages' },
  )
}

/** Before the request waits for a place: a schema that cannot be kept is refused at once. */
const formatOf = async (
  { schemas }: ChatDeps,
  { responseFormat }: ChatOrder,
  { followsGrammars = false }: Engine,
): Promise<ResponseFormat> =>
  responseFormat.type === 'json_schema'
    ? { ...responseFormat, compiled: followsGrammars ? await schemas.compile(responseFormat.schema) : null }
    : responseFormat

const openModel = async ({ source, route }: ChatDeps, order: ChatOrder, signal: AbortSignal) => {
  if (order.model !== AUTO || route === null) {
    return { lease: await source.open(order.model, signal), routed: null }
  }
  const { model, reason } = route({ messages: order.messages, responseFormat: order.responseFormat })
  return { lease: await source.open(model, signal), routed: reason }
}

const compressed = async (compress: Compress | null, { messages }: ChatOrder, { engine }: Lease) => {
  if (compress === null || engine.countTokens === undefined) return { messages, removedTokens: null }
  return (await compress(messages, engine.countTokens)) ?? { messages, removedTokens: null }
}

/**
 * Finds the model, gets in line for its engine and hands the running chat to `use`; when that is over, whatever was held for
 * it is given back.
 * @throws InferenceError model_not_found, unsupported, queue_full or what the engine says
 */
export const runChat = async <T>(
  deps: ChatDeps,
  order: ChatOrder,
  signal: AbortSignal,
  use: (run: ChatRun) => Promise<T>,
): Promise<T> => {
  const { lease, routed } = await openModel(deps, order, signal)
  try {
    const { engine } = lease
    assertChats(engine)
    assertMayFit(order.messages, engine)
    const format = await formatOf(deps, order, engine)
    const { messages, removedTokens } = await compressed(deps.compress, order, lease)
    const requests = requestsOf(order, format, messages, engine)
    const places = deps.admissions.of(engine).enter(requests.length, signal)
    const events = runChoices(engine, requests, places, signal)
    return await use({ model: engine.model.name, routed, removedTokens, events })
  } finally {
    lease.release()
  }
}
