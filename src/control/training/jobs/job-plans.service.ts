import { type Caller, sees } from '../../../domain/access.ts'
import { badRequest, inBody } from '../../../domain/errors.ts'
import { plural } from '../../../domain/plural.ts'
import { leastTarget, requireLikelyDraw, samplingOf } from '../../../domain/poisson-sampling.ts'
import { DEFAULT_DELTA, MAX_ROUND_NOISE, requireNoisySteps } from '../../../domain/privacy/mechanism.ts'
import { TIMEOUT_SECONDS } from '../../../domain/round.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import {
  minUpdates,
  requirePrivacyAllowed,
  requireSecureAggregationAllowed,
  strategySettings,
} from '../../../domain/strategy-settings.ts'
import {
  JOB_ROUNDS,
  type JobSettings,
  MIN_DEVICES_DEFAULT,
  OVER_SELECTION,
  type Publish,
  roundSizes,
  WAIT_FOR_DEVICES_SECONDS,
} from '../../../domain/training-job.ts'
import type { ModelsService, StoredModel } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { Ledger } from '../../federations/ledger.service.ts'
import type { PrivateDraws, Scope } from '../../fleet/selection/selection.service.ts'
import type { ModelLayouts } from '../rounds/model-layouts.service.ts'
import type { ParticipantScope, ParticipantScopes } from '../rounds/participant-scope.service.ts'
import { requireNoNoise, type SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import {
  closesEarlyWith,
  comparesWithheld,
  movesVariances,
  objectiveIn,
  requireMeasured,
  requireNothingAtOdds,
} from './job-checks.ts'
import type { NewJob } from './new-job.ts'

/** A job that may be created. */
export interface PlannedJob {
  readonly settings: JobSettings
  readonly modelId: string
  readonly participantScope: ParticipantScope
  /** Assumptions made where the request left something out, and settings that may not be what was meant. */
  readonly warnings: readonly string[]
}

/** Checks a requested job before it is created: names, sizes, strategy, and the cost of its noise. */
export const createJobPlans = (
  { database }: Context,
  {
    models,
    scopes,
    draws,
    secure,
    layouts,
    ledger,
  }: {
    readonly models: Pick<ModelsService, 'findVersion'>
    readonly scopes: Pick<ParticipantScopes, 'resolve'>
    readonly draws: Pick<PrivateDraws, 'countEligible'>
    readonly secure: Pick<SecureSteps, 'prepare'>
    readonly layouts: Pick<ModelLayouts, 'judge'>
    readonly ledger: Pick<Ledger, 'quote' | 'noiseFor'>
  },
) => {
  const eligible = (scope: Scope): Promise<number> => draws.countEligible(database.sql, scope)

  const modelOf = async (caller: Caller, reference: string) => {
    const advice = 'Use a model in the catalog that has an uploaded version.'
    return inBody('model', () => models.findVersion(caller, reference), advice)
  }

  const privacyOf = async (
    caller: Caller,
    requested: NonNullable<NewJob['privacy']>,
    { sampleRate, steps }: { readonly sampleRate: number; readonly steps: number },
  ) => {
    const {
      noiseMultiplier: given,
      targetEpsilon: epsilon,
      targetDelta: delta = DEFAULT_DELTA,
      clipNorm,
      adaptiveClip,
    } = requested
    if ((given === undefined) === (epsilon === undefined)) {
      throw badRequest('privacy needs either noise_multiplier or target_epsilon, which determines the noise.')
    }
    if (given !== undefined) {
      requireNoisySteps({ noiseMultiplier: given, sampleRate, steps })
      return { noiseMultiplier: given, clipNorm, adaptiveClip, delta }
    }
    const noiseMultiplier = await ledger.noiseFor(caller, { epsilon: epsilon!, delta, sampleRate, steps })
    if (noiseMultiplier !== null && noiseMultiplier <= MAX_ROUND_NOISE)
      return { noiseMultiplier, clipNorm, adaptiveClip, delta, targetEpsilon: epsilon! }
    const fault =
      noiseMultiplier === null
        ? `cannot be met over ${plural(steps, 'round')} with any amount of noise`
        : `needs a noise_multiplier of ${Math.ceil(noiseMultiplier)}; the maximum is ${MAX_ROUND_NOISE}`
    throw badRequest(`privacy.target_epsilon ${epsilon} ${fault}. Choose a higher target_epsilon or fewer rounds.`)
  }

  return {
    async plan(caller: Caller, requested: NewJob): Promise<PlannedJob> {
      const strategy = strategySettings(requested.strategy, requested.strategyOptions)
      requireMeasured(requested)
      if (requested.privacy !== undefined) {
        requirePrivacyAllowed(strategy.name)
        requireNothingAtOdds(requested)
      }
      if (requested.secureAggregation !== null) {
        requireSecureAggregationAllowed(strategy.name)
        requireNoNoise(requested.privacy)
      }
      const minDevices = requested.minDevices ?? MIN_DEVICES_DEFAULT
      const isAsynchronous = STRATEGY_RULES[strategy.name].asynchronous
      const orgOfModel = async () => (await modelOf(caller, requested.model)).model.orgId
      const participantScope = await scopes.resolve(caller, requested, orgOfModel)
      const population = requested.privacy === undefined ? null : await eligible(participantScope.scope)
      const targetDevices =
        requested.targetDevices ??
        (population === null ? null : leastTarget(minDevices, population)) ??
        Math.max(minDevices, isAsynchronous ? Number(strategy.options.buffer) : minUpdates(strategy))
      const overSelection = requested.overSelection ?? OVER_SELECTION.default
      const sizes = roundSizes({ strategy, minDevices, targetDevices, overSelection })
      // With fewer than min_devices eligible, the job waits for more.
      if (population !== null && population >= minDevices) requireLikelyDraw({ minDevices, targetDevices }, population)
      const { model, version } = await modelOf(caller, requested.model)
      const publish = publishOf(caller, requested, model)
      const { rawVector, unreadable, warning, variances } = await layouts.judge(version, {
        declared: requested.rawVector,
        guessed: true,
        trees: STRATEGY_RULES[strategy.name].trees === true,
      })
      if (unreadable !== null) throw badRequest(`model: ${unreadable}`)
      if (requested.secureAggregation !== null) {
        await secure.prepare(requested.secureAggregation, { ...sizes, rawVector, modelSha256: version.sha256 })
      }
      const closesEarly =
        isAsynchronous && minDevices < sizes.requested
          ? closesEarlyWith(await eligible(participantScope.scope), sizes)
          : null
      const compares = publish === 'best' || requested.stopWhen !== undefined
      const withheld = compares ? await withheldFigures(eligible, participantScope) : null
      const count = requested.rounds ?? JOB_ROUNDS.default
      const sampleRate = population === null ? 1 : samplingOf(targetDevices, population).sampleRate
      const privacy =
        requested.privacy === undefined
          ? null
          : await privacyOf(caller, requested.privacy, { sampleRate, steps: count })
      if (privacy !== null && participantScope.federationId !== null) {
        const { noiseMultiplier } = privacy
        await ledger.quote(caller, participantScope.federationId, { noiseMultiplier, sampleRate, steps: count })
      }
      return {
        modelId: version.modelId,
        warnings: [warning, closesEarly, withheld, movesVariances(variances, strategy.name, privacy !== null)].filter(
          (one) => one !== null,
        ),
        participantScope,
        settings: {
          strategy,
          rounds: count,
          minDevices,
          targetDevices,
          overSelection,
          timeoutSeconds: requested.timeoutSeconds ?? TIMEOUT_SECONDS.default,
          reportWindowSeconds: requested.reportWindowSeconds ?? null,
          waitForDevicesSeconds: requested.waitForDevicesSeconds ?? WAIT_FOR_DEVICES_SECONDS.default,
          hyperparameters: requested.hyperparameters ?? {},
          privacy,
          secureAggregation: requested.secureAggregation,
          stopWhen: requested.stopWhen ?? null,
          ...objectiveIn(requested),
          modelVersion: version.version,
          publish,
          ...(requested.evaluationSeconds === undefined ? {} : { evaluationSeconds: requested.evaluationSeconds }),
          ...(rawVector ? { rawVector: true } : {}),
          ...(sees(caller, model.orgId) ? {} : { sharedModel: true }),
        },
      }
    },
  }
}

/** Only the owner of a model adds versions to it: a model shared with a federation can be trained, but not published to. */
const publishOf = (caller: Caller, { publish }: NewJob, model: StoredModel): Publish => {
  if (sees(caller, model.orgId)) return publish ?? 'last'
  if (publish === undefined || publish === 'none') return 'none'
  throw badRequest(
    `publish: '${model.name ?? model.id}' belongs to another organization, and only that organization can add versions to it. Leave publish out.`,
  )
}

/** A warning if members of the federation have too few devices for what the job compares. */
const withheldFigures = async (
  eligible: (scope: Scope) => Promise<number>,
  { federationId, scope }: ParticipantScope,
): Promise<string | null> =>
  federationId === null || scope.orgIds === 'any'
    ? null
    : comparesWithheld(await Promise.all(scope.orgIds.map((orgId) => eligible({ ...scope, orgIds: [orgId] }))))
