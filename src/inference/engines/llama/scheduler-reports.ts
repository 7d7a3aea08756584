import type { PlannedPart } from './batch-plan.ts'
import { type Choice, type Progress, tell } from './choice.ts'
import type { PrefixCache } from './prefix-cache.ts'
import type { EngineEvent } from './protocol.ts'
import type { SlotManager } from './slot-manager.ts'

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
