import { NO_STEPS_SECONDS } from '../../../domain/rollout.ts'
import type { ListedRollout, Rollout, RolloutEvent } from './delivery-records.ts'

export type StageState = 'past' | 'current' | 'next' | 'later'

/** A past, current, or scheduled percentage of a rollout. */
export interface Stage {
  readonly percentage: number
  readonly state: StageState
  /** When it was or will be reached; null if it is not scheduled. */
  readonly at: string | null
}

const MOVES = ['start', 'step', 'advance', 'set_percentage']
const MINUTE_MS = 60_000

const reached = (rollout: Rollout, events: readonly RolloutEvent[]): Stage[] => {
  const stages: Stage[] = []
  for (const { event, percentage, at } of events) {
    if (!MOVES.includes(event) || percentage === null || stages.at(-1)?.percentage === percentage) continue
    stages.push({ percentage, state: 'past', at })
  }
  if (stages.at(-1)?.percentage !== rollout.percentage) {
    stages.push({ percentage: rollout.percentage, state: 'past', at: rollout.started_at })
  }
  return stages
}

const ahead = (rollout: Rollout): Stage[] => {
  const isOver = rollout.status === 'completed' || rollout.status === 'rolled_back'
  const first = rollout.next_step_at === null ? null : Date.parse(rollout.next_step_at)
  const stages: Stage[] = []
  for (let { percentage } = rollout; !isOver && percentage < rollout.target_percentage; ) {
    percentage = Math.min(rollout.target_percentage, percentage + rollout.increment_step)
    const at = first === null ? null : first + stages.length * rollout.step_interval_minutes * MINUTE_MS
    const state = stages.length === 0 ? 'next' : 'later'
    stages.push({ percentage, state, at: at === null ? null : new Date(at).toISOString() })
  }
  return stages
}

/** True for a policy's canary: it takes no steps, and the policy decides on it. */
export const isCanary = ({ step_interval_minutes }: Pick<ListedRollout, 'step_interval_minutes'>): boolean =>
  step_interval_minutes * 60 >= NO_STEPS_SECONDS

/** All stages of a rollout, from its history and its schedule. */
export const stagesOf = (rollout: Rollout, events: readonly RolloutEvent[]): readonly Stage[] => {
  const behind = reached(rollout, events)
  const now = behind.at(-1)!
  if (rollout.status === 'pending') {
    return [
      { ...now, state: 'next', at: null },
      ...ahead(rollout).map((stage) => ({ ...stage, state: 'later' as const })),
    ]
  }
  const current = rollout.status === 'rolled_back' ? now : { ...now, state: 'current' as const }
  return [...behind.slice(0, -1), current, ...ahead(rollout)]
}

/** Selects the stages that fit in a row: both ends, and those around the current one; null for each gap. */
export const visibleStages = (stages: readonly Stage[], most = 9): readonly (Stage | null)[] => {
  if (stages.length <= most) return stages
  const found = stages.findIndex(({ state }) => state === 'current' || state === 'next')
  const current = found === -1 ? stages.length - 1 : found
  const from = Math.max(1, Math.min(current - 2, stages.length - (most - 2)))
  const to = Math.min(stages.length - 1, from + most - 4)
  return [
    stages[0]!,
    ...(from > 1 ? [null] : []),
    ...stages.slice(from, to),
    ...(to < stages.length - 1 ? [null] : []),
    stages.at(-1)!,
  ]
}
