import type { Closing } from '../../structured-output/response-grammar.ts'
import type { ChatRequest, Finished, Speculation } from '../engine.ts'
import type { PlannedPart } from './batch-plan.ts'
import type { Sampler } from './binding/batch-context.ts'
import type { PrefixCache } from './prefix-cache.ts'
import type { EngineEvent } from './settings.ts'
import type { SlotManager } from './slot-manager.ts'
import type { TextStream } from './text-stream.ts'

/** One running or waiting answer. */
export interface Choice {
  readonly id: number
  readonly promptTokens: number
  /** The prompt, and then the answer as far as it is known. */
  readonly tokens: number[]
  /** How many tokens `tokens` may become. */
  readonly limit: number
  readonly request: ChatRequest
  readonly sampler: Sampler
  readonly text: TextStream
  /** Follows what is written, and ends it where an answer must be whole. */
  readonly closing: Closing
  /** How many of `tokens` are in the slot's keys and values. */
  filled: number
  cachedTokens: number
  /** Guesses at the tokens that follow `tokens`, for the next batch to check. */
  drafts: readonly number[]
  speculation: Speculation | null
  started: boolean
  /** Set when nothing more is to be computed for it. */
  over: boolean
}

/** What one step found out about a choice: the tokens that follow, and whether the model ended there. */
export interface Progress {
  readonly choice: Choice
  readonly tokens: readonly number[]
  readonly ended: boolean
}

/** What the requester hears of it. The choice is over once this contains `finished`. */
export const tell = ({ choice, tokens, ended }: Progress): EngineEvent[] => {
  const { id, promptTokens, cachedTokens, text } = choice
  const events: EngineEvent[] = []
  if (!choice.started) events.push({ id, type: 'started', promptTokens, cachedTokens })
  choice.started = true

  let certain = ''
  let reason: Finished['reason'] | null = null
  let stopSequence: string | null = null
  let used = choice.tokens.length - promptTokens - tokens.length
  for (const token of tokens) {
    used += 1
    const pushed = text.push(token)
    if (choice.closing.take(pushed.text)) certain += pushed.text
    else reason = 'length'
    if (pushed.stopped !== null && reason === null) {
      reason = 'stop'
      stopSequence = pushed.stopped
    }
    if (reason !== null) break
  }
  if (reason === null && (ended || choice.tokens.length >= choice.limit)) {
    const held = text.end()
    if (choice.closing.take(held)) certain += held
    reason = ended ? 'stop' : 'length'
  }
  if (reason !== null) certain += choice.closing.ending()
  if (certain !== '') events.push({ id, type: 'text', text: certain })
  if (reason !== null) {
    choice.over = true
    const result = {
      reason,
      completionTokens: used,
      speculation: choice.speculation,
      ...(stopSequence !== null && { stopSequence }),
    }
    events.push({ id, type: 'finished', result })
  }
  return events
}

const FIGURES_EVERY_MS = 100

export interface ReportParts {
  readonly slotManager: SlotManager
  readonly cache: PrefixCache
  readonly slots: number
  readonly contextTokens: number
  readonly onEvents: (events: readonly EngineEvent[]) => void
  readonly figures: (figures: Readonly<Record<string, number>>) => void
}

/** What the scheduler tells of its choices and of itself. */
export const createReports = (parts: ReportParts) => {
  const { slotManager, cache } = parts
  const counts = { tokens_decoded_total: 0, prompt_tokens_total: 0, batches_total: 0 }
  let tellFiguresAt = 0

  /** Figures cost a message: while there is work they are told now and then, and in any case once there is none. */
  const tellFigures = (): void => {
    const resting = slotManager.waiting === 0 && !slotManager.occupied().some(({ choice }) => !choice.over)
    if (!resting && performance.now() < tellFiguresAt) return
    tellFiguresAt = performance.now() + FIGURES_EVERY_MS
    const occupied = slotManager.occupied().filter(({ choice }) => !choice.over)
    parts.figures({
      ...counts,
      ...cache.figures(),
      slots_busy: occupied.length,
      slots_free: parts.slots - occupied.length,
      requests_waiting: slotManager.waiting,
      kv_cells: parts.slots * parts.contextTokens,
      kv_cells_used: occupied.reduce((sum, { choice }) => sum + choice.filled, 0),
    })
  }

  const failed = ({ id }: Choice, what: string, error: unknown): EngineEvent => {
    const message = `${what}: ${error instanceof Error ? error.message : String(error)}`
    return { id, type: 'failed', failure: { code: 'engine_failed', message, param: null } }
  }

  const tellOrFail = (progress: Progress): EngineEvent[] => {
    try {
      return tell(progress)
    } catch (error) {
      progress.choice.over = true
      return [failed(progress.choice, 'The answer could not be written', error)]
    }
  }

  const deliver = (progress: readonly Progress[]): void => {
    const events = progress.flatMap((each) => (each.choice.over ? [] : tellOrFail(each)))
    if (events.length > 0) parts.onEvents(events)
  }

  const fail = (planned: readonly PlannedPart[], error: unknown): void => {
    const reported = planned.filter(({ choice }) => !choice.over)
    for (const { choice, sequence } of planned) {
      choice.over = true
      slotManager.invalidate(sequence)
    }
    parts.onEvents(reported.map(({ choice }) => failed(choice, 'llama.cpp could not compute a batch', error)))
  }

  return { counts, tellFigures, deliver, fail }
}
