import { type Caller, sees } from '../../../domain/access.ts'
import { inBody } from '../../../domain/errors.ts'
import { requireSizes, TIMEOUT_SECONDS } from '../../../domain/round.ts'
import { DEFAULT_STRATEGY, isTreeStrategy } from '../../../domain/strategy-rules.ts'
import {
  minDevicesFor,
  needsModel,
  requirePrivacyAllowed,
  requireSecureAggregationAllowed,
  requireStandsAlone,
  type StrategySettings,
} from '../../../domain/strategy-settings.ts'
import { auditNote } from '../../audit-note.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import { requireNoNoise, type SecureSettingsRequest, type SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { DueRounds } from './due-rounds.service.ts'
import type { ModelLayouts } from './model-layouts.service.ts'
import type { RoundRequest } from './new-round.service.ts'
import type { ParticipantScope, ParticipantScopes } from './participant-scope.service.ts'
import type { PrivacyCosts } from './privacy-costs.service.ts'
import type { RoundStarts } from './round-starts.service.ts'
import { roundsReport } from './rounds.report.ts'
import { alreadyInProgress, type PrivacySettings, roundsStore, type StoredRound } from './rounds.store.ts'

export interface StartRound {
  readonly targetDevices: number
  readonly minDevices: number
  readonly timeoutSeconds: number | undefined
  readonly globalModel: string | undefined
  readonly orgId: string | undefined
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** Null for a plain round, which averages. */
  readonly strategy: StrategySettings | null
  /** Id or name. */
  readonly group: string | undefined
  readonly federation: string | undefined
  readonly privacy: PrivacySettings | null
  readonly secureAggregation: SecureSettingsRequest | null
  /** The model and updates are declared to be raw float32 vectors. */
  readonly rawVector: boolean
}

/** Starts standalone rounds, which belong to no job. */
export const createStandaloneRounds = (
  { database }: Context,
  {
    models,
    layouts,
    scopes,
    prices,
    starts,
    secure,
    due,
  }: {
    readonly models: Pick<ModelsService, 'latestAggregated' | 'findVersion' | 'versionFor'>
    readonly layouts: Pick<ModelLayouts, 'contentOf'>
    readonly scopes: Pick<ParticipantScopes, 'resolve'>
    readonly prices: Pick<PrivacyCosts, 'priced'>
    readonly starts: Pick<RoundStarts, 'open'>
    readonly secure: Pick<SecureSteps, 'prepare'>
    readonly due: Pick<DueRounds, 'tick'>
  },
) => {
  /** Null if the request names no model. */
  const namedModel = async (caller: Caller, { globalModel }: StartRound) => {
    if (globalModel === undefined) return null
    const advice = 'Use a model in the catalog that has an uploaded version.'
    return inBody('global_model_id', () => models.findVersion(caller, globalModel), advice)
  }

  /** The version that a round distributes if its request names no model. In a federation, only what its rounds have made. */
  const defaultModel = async ({ orgId, federationId }: ParticipantScope) => {
    if (federationId === null) return models.latestAggregated(orgId)
    const id = await roundsReport.latestModelIn(database.sql, federationId, orgId)
    return id === null ? null : models.versionFor(id)
  }

  return {
    /** Calls `warn` with what the starter should know about the model. */
    async start(caller: Caller, requested: StartRound, warn: (warning: string) => void): Promise<StoredRound> {
      requireSizes(requested)
      if (requested.privacy !== null) requirePrivacyAllowed(requested.strategy?.name ?? DEFAULT_STRATEGY)
      if (requested.secureAggregation !== null) {
        requireSecureAggregationAllowed(requested.strategy?.name ?? DEFAULT_STRATEGY)
        requireNoNoise(requested.privacy)
      }
      const orgOfModel = async () => (await namedModel(caller, requested))?.model.orgId
      const within = await scopes.resolve(caller, requested, orgOfModel)
      await runDue(due.tick)
      if ((await roundsStore.inProgress(database.sql, within.orgId)) !== null) throw alreadyInProgress()
      const named = await namedModel(caller, requested)
      const version = named === null ? await defaultModel(within) : named.version
      const isPlain = requested.privacy === null && requested.secureAggregation === null
      const strategy = requested.strategy ?? (isPlain ? null : { name: DEFAULT_STRATEGY, options: {} })
      requireStandsAlone(strategy, { hasModel: version !== null, isPrivate: requested.privacy !== null })
      const { rawVector, warning } = await layouts.contentOf(version, {
        declared: requested.rawVector,
        trees: strategy !== null && isTreeStrategy(strategy.name),
        isNeeded: requested.secureAggregation !== null || needsModel(strategy, requested.privacy !== null),
      })
      if (warning !== null) warn(warning)
      const { targetDevices } = requested
      const sizes = { minDevices: requested.minDevices, requested: targetDevices }
      const minDevices = strategy === null ? requested.minDevices : minDevicesFor(strategy, sizes)
      const secured =
        requested.secureAggregation === null
          ? null
          : await secure.prepare(requested.secureAggregation, {
              selected: targetDevices,
              minDevices,
              rawVector,
              modelSha256: version?.sha256 ?? null,
            })
      const opening: RoundRequest = {
        ...within,
        strategy,
        hyperparameters: requested.hyperparameters,
        minDevices,
        targetDevices,
        wantedUpdates: null,
        timeoutSeconds: requested.timeoutSeconds ?? TIMEOUT_SECONDS.default,
        graceSeconds: null,
        version,
        sharedModel: named !== null && !sees(caller, named.model.orgId),
        privacy: requested.privacy,
        secure: secured,
        rawVector,
        starter: caller.deviceId,
        job: null,
      }
      const after = { minDevices, targetDevices, strategy: strategy?.name, modelId: version?.modelId }
      return prices.priced(opening, (price) =>
        database.transaction(async (tx) => {
          const round = await starts.open(tx, opening, price)
          auditNote({ kind: 'round', id: round.id, orgId: round.orgId, after })
          return round
        }),
      )
    },
  }
}

export type StandaloneRounds = ReturnType<typeof createStandaloneRounds>
