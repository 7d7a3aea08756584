import type { ChatRequest } from '../../engine.ts'
import { type Occupied, type PlannedPart, planBatch } from './batch-plan.ts'
import type { BatchContext } from './binding/batch-context.ts'
import type { LlamaModel } from './binding/load-model.ts'
import { type Choice, type Progress, tell } from './choice.ts'
import type { Happening } from './protocol.ts'
import type { Listener } from './runner.ts'
import { createTextStream } from './text-stream.ts'

/** Runs all choices on one context: every step computes one batch in which each of them has its part. */
export interface Scheduler {
  add(id: number, prompt: Uint32Array, request: ChatRequest): void
  /** Nothing more is told about it, and its slot is free at the next step. */
  cancel(id: number): void
}

export interface SchedulerParts {
  readonly model: LlamaModel
  readonly context: BatchContext
  readonly contextTokens: number
  readonly slots: number
  readonly batchTokens: number
  readonly listener: Listener
}

export const createScheduler = (parts: SchedulerParts): Scheduler => {
  const { model, context, listener } = parts
  const waiting: Choice[] = []
  const slots: (Choice | null)[] = Array.from({ length: parts.slots }, () => null)
  const counts = { tokens_decoded_total: 0, prompt_tokens_total: 0, batches_total: 0 }
  let running = false

  const occupied = (): Occupied[] => slots.flatMap((choice, slot) => (choice === null ? [] : [{ slot, choice }]))

  const tellFigures = (): void => {
    const busy = occupied().length
    listener.figures({
      ...counts,
      slots_busy: busy,
      slots_free: parts.slots - busy,
      requests_waiting: waiting.length,
      kv_cells_used: occupied().reduce((sum, { choice }) => sum + choice.filled, 0),
      kv_cells: parts.slots * parts.contextTokens,
    })
  }

  const leave = (slot: number): void => {
    slots[slot]?.sampler.dispose()
    slots[slot] = null
    context.truncate(slot, 0)
  }

  const admit = (): void => {
    for (const { slot, choice } of occupied()) if (choice.over) leave(slot)
    for (let slot = slots.indexOf(null); slot >= 0 && waiting.length > 0; slot = slots.indexOf(null)) {
      slots[slot] = waiting.shift() ?? null
    }
  }

  const deliver = (progress: readonly Progress[]): void => {
    const happenings = progress.flatMap((each) => (each.choice.over ? [] : tell(each)))
    if (happenings.length > 0) listener.happened(happenings)
  }

  const fail = (planned: readonly PlannedPart[], error: unknown): void => {
    const message = `llama.cpp could not compute a batch: ${error instanceof Error ? error.message : String(error)}`
    const happenings: Happening[] = []
    for (const { choice } of planned) {
      if (!choice.over) {
        happenings.push({ id: choice.id, type: 'failed', failure: { code: 'engine_failed', message, param: null } })
      }
      choice.over = true
    }
    listener.happened(happenings)
  }

  const advance = async (part: PlannedPart, answers: Uint32Array): Promise<Progress | null> => {
    const { choice } = part
    choice.filled += part.tokens.length
    if (choice.filled <= choice.promptTokens) counts.prompt_tokens_total += part.tokens.length
    const answer = answers[0]
    if (answer === undefined || choice.over) return null
    const token = await choice.sampler.next(answer)
    if (token < 0 || model.endsGeneration(token)) return { choice, tokens: [], ended: true }
    choice.tokens.push(token)
    counts.tokens_decoded_total += 1
    return { choice, tokens: [token], ended: false }
  }

  /** While one batch is computed, the tokens of the one before are told. */
  const run = async (): Promise<void> => {
    let told: readonly Progress[] = []
    for (;;) {
      admit()
      const known = told
      const writing = occupied().filter(({ choice }) => !known.some((each) => each.choice === choice && each.ended))
      const planned = planBatch(
        writing.filter(({ choice }) => choice.tokens.length < choice.limit),
        parts.batchTokens,
        parts.batchTokens,
      )
      if (planned.length === 0) {
        if (told.length === 0) break
        deliver(told)
        told = []
        continue
      }
      const computing = context.decode(planned)
      deliver(told)
      told = []
      try {
        const answers = await computing
        counts.batches_total += 1
        const progress = await Promise.all(
          planned.map((part, index) => advance(part, answers[index] ?? new Uint32Array())),
        )
        told = progress.filter((each) => each !== null)
      } catch (error) {
        fail(planned, error)
      }
      tellFigures()
    }
    tellFigures()
  }

  const wake = (): void => {
    if (running) return
    running = true
    void run().finally(() => {
      running = false
      if (waiting.length > 0) wake()
    })
  }

  return {
    add: (id, prompt, request) => {
      const room = parts.contextTokens - prompt.length
      waiting.push({
        id,
        promptTokens: prompt.length,
        tokens: [...prompt],
        limit: prompt.length + Math.min(request.maxTokens ?? room, room),
        request,
        sampler: context.createSampler({ ...request, grammar: null }),
        text: createTextStream(model.detokenize, request.stop),
        filled: 0,
        cachedTokens: 0,
        started: false,
        over: false,
      })
      wake()
    },
    cancel: (id) => {
      const index = waiting.findIndex((choice) => choice.id === id)
      if (index >= 0) waiting.splice(index, 1)[0]?.sampler.dispose()
      for (const { choice } of occupied()) if (choice.id === id) choice.over = true
      wake()
    },
  }
}
