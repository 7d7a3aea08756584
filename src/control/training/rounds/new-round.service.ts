import { randomBytes } from 'node:crypto'
import type { StatedGoal } from '../../../domain/metrics.ts'
import { stragglerGraceSeconds } from '../../../domain/round.ts'
import { DEFAULT_STRATEGY, STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StrategySettings } from '../../../domain/strategy-settings.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import type { Scope } from '../../fleet/selection/selection.service.ts'
import type { SecurePlan } from '../secure-rounds/secure-steps.service.ts'
import type { NewRound, PrivacySettings, RoundPlan, RoundPrivacy } from './rounds.store.ts'

/** A checked request for a round; only checks that require the transaction remain. */
export interface RoundRequest {
  readonly orgId: string | null
  readonly groupId: string | null
  readonly federationId: string | null
  readonly scope: Scope
  /** Null for a plain round: federated averaging, and a plan without additional fields. */
  readonly strategy: StrategySettings | null
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly minDevices: number
  /** How many devices are selected. */
  readonly targetDevices: number
  /** How many updates the round accepts; null for those of all participants. */
  readonly wantedUpdates: number | null
  readonly timeoutSeconds: number
  /** Null for the default that follows from the timeout. */
  readonly graceSeconds: number | null
  readonly version: StoredVersion | null
  /** The version belongs to another organization, which must still share it when the round opens. */
  readonly sharedModel: boolean
  readonly privacy: PrivacySettings | null
  /** Null if the service sees every update. */
  readonly secure: SecurePlan | null
  /** The model and updates are raw float32 vectors. */
  readonly rawVector: boolean
  /** The device whose key starts the round; it takes part, except in private rounds, which draw every device at random. */
  readonly starter: string | null
  readonly job: {
    readonly id: string
    readonly step: number
    /** The stated direction of the job's metric; null if there is none. */
    readonly goal: StatedGoal | null
    readonly stateSha256: string | null
    readonly controlSha256: string | null
    /** The previous round of an asynchronous job. */
    readonly previousRoundId: string | null
  } | null
}

/** The round's training plan; `population` is the number of devices that could be drawn, if the plan must contain it. */
export const planOf = (requested: RoundRequest, population: number | null): RoundPlan => {
  const { strategy, hyperparameters, job } = requested
  const vector = requested.rawVector ? ({ rawVector: true } as const) : {}
  if (strategy === null) return { strategy: DEFAULT_STRATEGY, hyperparameters, ...vector }
  const rules = STRATEGY_RULES[strategy.name]
  const onDevice = Object.fromEntries((rules.onDevice ?? []).map((name) => [name, strategy.options[name]!]))
  return {
    strategy: strategy.name,
    hyperparameters: { ...hyperparameters, ...onDevice },
    options: strategy.options,
    ...(job === null ? {} : { step: job.step }),
    ...(job === null || job.goal === null ? {} : { goal: job.goal }),
    ...(rules.asynchronous ? { asynchronous: true } : {}),
    ...(population === null ? {} : { population }),
    ...(requested.secure === null ? {} : { secure: requested.secure.settings }),
    ...(requested.secure !== null && rules.needsModel ? { exactMean: true } : {}),
    ...vector,
  }
}

/** The row of a new round. */
export const newRound = (
  requested: RoundRequest,
  privacy: RoundPrivacy | null,
  { id, plan, startedAt }: { readonly id: string; readonly plan: RoundPlan; readonly startedAt: Date },
): NewRound => {
  const { version, job, timeoutSeconds } = requested
  // In a private round the grace period runs from the start, when no device has trained yet: its default is the whole timeout.
  const graceSeconds =
    requested.graceSeconds ?? (privacy === null ? stragglerGraceSeconds(timeoutSeconds) : timeoutSeconds)
  const after = (seconds: number): Date => new Date(startedAt.getTime() + seconds * 1000)
  return {
    id,
    plan,
    startedAt,
    orgId: requested.orgId,
    groupId: requested.groupId,
    federationId: requested.federationId,
    targetDevices: requested.targetDevices,
    minDevices: requested.minDevices,
    wantedUpdates: requested.wantedUpdates,
    timeoutSeconds,
    graceSeconds,
    timeoutAt: after(timeoutSeconds),
    // Private rounds do not replace devices.
    reviewAt: privacy === null ? after(timeoutSeconds / 10) : null,
    closesAt: privacy === null ? null : after(Math.min(graceSeconds, timeoutSeconds)),
    globalModelId: version?.modelId ?? null,
    globalModelVersion: version?.version ?? null,
    globalSha256: version?.sha256 ?? null,
    jobId: job?.id ?? null,
    stateSha256: job?.stateSha256 ?? null,
    controlSha256: job?.controlSha256 ?? null,
    privacy,
    noiseSeed: privacy === null ? null : randomBytes(32).toString('hex'),
  }
}
