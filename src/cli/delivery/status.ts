import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { knownModel, type ModelDetail, modelNamed, nullIfNotFound } from '../model-sources/catalog.ts'
import {
  type Counts,
  failuresOf,
  isOpen,
  type Plan,
  type PlanDevice,
  type Progress,
  plansOf,
  progressOf,
} from './plans.ts'

export interface PlanWithProgress extends Plan, Progress {
  readonly failures: readonly PlanDevice[]
}

export interface ModelStatus {
  readonly name: string
  /** null if the name is not in the catalog but has deployments. */
  readonly model: ModelDetail | null
  /** The open plans, the last closed one, and the last completed one, newest first. */
  readonly plans: readonly PlanWithProgress[]
}

/** @throws Failure if the name has neither a model nor plans */
export const statusOf = async (connection: Connection, name: string): Promise<ModelStatus> => {
  const model = await nullIfNotFound(modelNamed(connection, name))
  const all = await plansOf(connection, model, name)
  if (model === null && all.length === 0) await knownModel(connection, name)
  const last = all.find((plan) => !isOpen(plan))
  // After a rollback, devices run the version of an older plan.
  const completed = all.find(({ status }) => status === 'completed')
  const shown = all.filter((plan) => isOpen(plan) || plan === last || plan === completed)
  const plans = await Promise.all(
    shown.map(async (plan): Promise<PlanWithProgress> => {
      const { counts, warnings } = await progressOf(connection, plan, model?.id ?? null)
      const failures = (counts.failed ?? 0) > 0 ? await failuresOf(connection, plan, model?.id ?? null) : []
      return { ...plan, counts, warnings, failures }
    }),
  )
  return { name: model?.name ?? name, model, plans }
}

const STATES = ['waiting', 'assigned', 'downloading', 'verifying', 'ready', 'active', 'failed', 'withdrawn']

/** `active 8, failed 1`, in the order that devices pass through the states. */
export const countWords = (counts: Counts): string =>
  STATES.flatMap((state) => ((counts[state] ?? 0) > 0 ? [`${state} ${counts[state]}`] : [])).join(', ') || 'none yet'

export const percentageWords = ({ percentage, targetPercentage }: Plan): string =>
  targetPercentage === null || percentage >= targetPercentage
    ? `${percentage}%`
    : `${percentage} of ${targetPercentage}%`

/** Returns the failure of a plan that went wrong as an error; null if it is fine. */
export const failureOf = (plan: Plan): Failure | null => {
  const phrases = {
    paused: 'is paused',
    rolled_back: 'was rolled back',
    failed: 'failed and was withdrawn',
    rejected: 'was not approved',
  }
  if (!(plan.status in phrases)) return null
  const why = plan.reason === null ? '.' : `: ${plan.reason}`
  return new Failure(
    `The ${plan.kind} of version ${plan.version} ${phrases[plan.status as keyof typeof phrases]}${why}`,
  )
}
