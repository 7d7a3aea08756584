import { errorMessage } from '../../../domain/error-message.ts'
import type { EngineEvent } from '../child/protocol.ts'
import type { BatchCosts } from './batch-costs.ts'
import { createPace, isWriting, type PlannedPart, planBatch } from './batch-plan.ts'
import type { BatchContext, Sampled } from './binding/batch-context.ts'
import type { LlamaModel } from './binding/load-model.ts'
import { type Choice, eventsOf, type Progress } from './choice.ts'
import type { PrefixCache } from './prefix-cache.ts'
import type { SlotManager } from './slot-manager.ts'
import type { Speculator } from './speculation/speculator.ts'

const FIGURES_EVERY_MS = 100

export interface ReportParts {
  readonly slotManager: SlotManager
  readonly cache: PrefixCache
  readonly slots: number
  readonly contextTokens: number
  readonly onEvents: (events: readonly EngineEvent[]) => void
  readonly figures: (figures: Readonly<Record<string, number>>) => void
}

/** Creates the reports about choices and the scheduler itself. */
export const createReports = (parts: ReportParts) => {
  const { slotManager, cache } = parts
  const counts = { tokens_decoded_total: 0, prompt_tokens_total: 0, batches_total: 0 }
  let nextFiguresAt = 0

  /** Sends figures at intervals while there is work, because each is a message, and always when there is none. */
  const sendFigures = (): void => {
    const resting = slotManager.waiting === 0 && !slotManager.occupied().some(({ choice }) => !choice.over)
    if (!resting && performance.now() < nextFiguresAt) return
    nextFiguresAt = performance.now() + FIGURES_EVERY_MS
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
    const message = `${what}: ${errorMessage(error)}`
    return { id, type: 'failed', failure: { code: 'engine_failed', message, param: null } }
  }

  const eventsOrFailure = (progress: Progress): EngineEvent[] => {
    try {
      return eventsOf(progress)
    } catch (error) {
      progress.choice.over = true
      return [failed(progress.choice, 'The reply could not be generated', error)]
    }
  }

  const deliver = (progress: readonly Progress[]): void => {
    const events = progress.flatMap((each) => (each.choice.over ? [] : eventsOrFailure(each)))
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

  return { counts, sendFigures, deliver, fail }
}

/** Runs all choices on one context: each step computes one batch that contains a part of every choice. */
export interface Scheduler {
  add(choice: Choice): void
  /** Sends nothing more about the choice, and frees its slot at the next step. */
  cancel(id: number): void
  /** True if nothing is being computed and nothing waits. */
  isIdle(): boolean
  /** Allocates all slots, if no batch has been computed yet whose results would be lost. */
  prepare(): void
}

export interface SchedulerParts extends ReportParts {
  readonly context: BatchContext
  readonly speculator: Speculator | null
  readonly batchTokens: number
  readonly model: Pick<LlamaModel, 'endsGeneration'>
  readonly costs: BatchCosts
}

export const createScheduler = (parts: SchedulerParts): Scheduler => {
  const { context, slotManager, cache, speculator } = parts
  const pace = createPace(parts.batchTokens)
  const { counts, sendFigures, deliver, fail } = createReports(parts)
  let running = false

  const score = async ({ log }: Choice, output: number, position: number, token: number): Promise<void> =>
    log?.scored(position, token, await context.score(output, token, log.alternatives))

  /** Samples the model's own tokens until one differs from its guess. */
  const confirm = async ({ choice, drafts }: PlannedPart, outputs: Uint32Array, first: number) => {
    const tokens: number[] = []
    for (const [index, output] of outputs.entries()) {
      const token = index === 0 ? first : await choice.sampler.next(output)
      if (choice.log !== undefined && token >= 0) await score(choice, output, choice.tokens.length + index, token)
      if (token < 0 || parts.model.endsGeneration(token)) return { tokens, ended: true, confirmed: index }
      tokens.push(token)
      if (token !== drafts[index]) return { tokens, ended: false, confirmed: index }
      if (choice.tokens.length + tokens.length >= choice.limit) break
    }
    return { tokens, ended: false, confirmed: tokens.length }
  }

  const advance = async (part: PlannedPart, sampled: Sampled): Promise<Progress | null> => {
    const { choice, drafts, sequence } = part
    const computed = part.tokens.length - drafts.length
    if (choice.filled < choice.promptTokens) counts.prompt_tokens_total += computed
    choice.filled += computed
    choice.drafts = []
    for (const [index, output] of sampled.outputs.subarray(0, part.scored).entries()) {
      const position = part.position + index + 1
      if (!choice.over) await score(choice, output, position, choice.tokens[position]!)
    }
    const outputs = sampled.outputs.subarray(part.scored)
    if (outputs.length === 0 || choice.over) {
      if (drafts.length > 0) context.truncate(sequence, choice.filled)
      return null
    }
    const { tokens, ended, confirmed } = await confirm(part, outputs, sampled.token)
    choice.tokens.push(...tokens)
    choice.filled += confirmed
    counts.tokens_decoded_total += tokens.length
    if (drafts.length > 0) {
      speculator?.checked(choice, drafts.length, confirmed)
      // Removes what follows a wrong guess.
      if (confirmed < drafts.length) context.truncate(sequence, choice.filled)
    }
    cache.noteContent(sequence, choice.tokens, choice.filled)
    return { choice, tokens, ended }
  }

  const compute = async (planned: readonly PlannedPart[], meanwhile: () => void): Promise<readonly Progress[]> => {
    const began = performance.now()
    try {
      const samplers = planned.map(({ choice, outputs }) => (outputs.length > 0 ? choice.sampler : null))
      const computing = context.decodeAndSample(planned, samplers)
      meanwhile()
      const sampled = await computing
      const prompts = planned.filter((part) => part.tokens.length > part.drafts.length + 1)
      pace.measured(
        prompts.reduce((sum, { tokens }) => sum + tokens.length, 0),
        performance.now() - began,
      )
      cache.computed()
      counts.batches_total += 1
      const progress = planned.map((part, index) => advance(part, sampled[index]!))
      return (await Promise.all(progress)).filter((each) => each !== null)
    } catch (error) {
      fail(planned, error)
      return []
    }
  }

  /** Sends the tokens of one batch while the next is computed. */
  const run = async (): Promise<void> => {
    let reported: readonly Progress[] = []
    do {
      await slotManager.assign()
      const ended = new Set(reported.filter((each) => each.ended).map(({ choice }) => choice))
      const going = slotManager
        .occupied()
        .filter(({ choice }) => !choice.over && !ended.has(choice) && choice.tokens.length < choice.limit)
      await speculator?.draft(going.filter(isWriting))
      const planned = planBatch(going, {
        batchTokens: parts.batchTokens,
        promptTokens: pace.promptTokens,
        costs: parts.costs,
      })
      const report = (): void => {
        deliver(reported)
        sendFigures()
      }
      if (planned.length > 0) reported = await compute(planned, report)
      else {
        report()
        reported = []
      }
    } while (reported.length > 0 || slotManager.occupied().length > 0 || slotManager.waiting > 0)
  }

  const alone = (work: () => Promise<void>): void => {
    if (running) return
    running = true
    void work().finally(() => {
      running = false
      if (slotManager.waiting > 0) wake()
    })
  }
  const wake = (): void => alone(run)

  return {
    add: (choice) => {
      slotManager.enqueue(choice)
      wake()
    },
    cancel: (id) => {
      slotManager.cancel(id)
      wake()
    },
    isIdle: () => !running,
    prepare: () => {
      if (counts.batches_total === 0) alone(slotManager.grow)
    },
  }
}
