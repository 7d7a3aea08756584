import { createHash, createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { AggregationResult, PrivacyPlan } from '../../../aggregation/aggregation-messages.ts'
import { buildReceipt, type Receipt } from '../../../aggregation/receipt.ts'
import { conflict } from '../../../domain/errors.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { PathOf, StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { SumTotals } from '../../../secure-aggregation/fixed-point.ts'
import type { Context } from '../../context.ts'
import { presentSettings as presentSecure } from '../secure-rounds/secure-rounds.present.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { ModelLayouts } from './model-layouts.service.ts'
import { presentCost, presentSampling } from './round-settings.present.ts'
import type { ScreenedUpdate, StoredRound } from './rounds.store.ts'
import type { DeliveredUpdate } from './updates.report.ts'

/** The result of aggregating a round's updates. The caller keeps or discards the staged files. */
export interface RoundAggregate {
  readonly result: AggregationResult
  readonly output: StagedBlob
  /** The strategy's state for the job's next round; null if it has none. */
  readonly state: StagedBlob | null
  readonly control: StagedBlob | null
  readonly receipt: Receipt
  /** The total weight and figures of a secure round's updates; null if each update is known. */
  readonly totals: SumTotals | null
}

/** Deletes the staged files of an aggregate, except those that were kept. */
export const discardUnkept = async ({ output, state, control }: RoundAggregate): Promise<void> => {
  for (const file of [output, state, control]) await file?.discard()
}

/**
 * A secure round's masked updates are useless individually, so their mean replaces them as the only update. A strategy that
 * uses the mean change gets only that, with the global model as the update.
 */
const createUnmasking =
  ({ blobs }: Context, { secure }: { readonly secure: Pick<SecureSteps, 'unmask'> }) =>
  async (round: StoredRound, delivered: readonly DeliveredUpdate[], globalPath: string, pathOf: PathOf) => {
    const scratchPath = await blobs.scratchPath()
    const masked = await Promise.all(
      delivered.map(async ({ update }) => ({
        deviceId: update.deviceId,
        path: await pathOf(fileOf(update)),
      })),
    )
    const rawVector = round.plan.rawVector === true
    const output = round.plan.exactMean ? 'change' : 'model'
    const totals = await secure.unmask(round.id, masked, { globalPath, rawVector, output, outputPath: scratchPath })
    const mean = { id: 'mean of masked updates', numSamples: totals.weight }
    const inputs =
      output === 'model'
        ? { updates: [{ ...mean, path: scratchPath }] }
        : { updates: [{ ...mean, path: globalPath, rawVector }], meanChangePath: scratchPath }
    return { scratchPath, totals, inputs }
  }

/** Aggregates a round's updates, and compares them with each other. */
export const createRoundAggregation = (
  context: Context,
  parts: {
    readonly layouts: Pick<ModelLayouts, 'layoutOf'>
    readonly secure: Pick<SecureSteps, 'unmask'>
  },
) => {
  const { blobs, workers } = context
  const { layouts } = parts

  const inputsOf = (delivered: readonly DeliveredUpdate[], pathOf: PathOf) =>
    Promise.all(
      delivered.map(async ({ update, key, baseSha256 }) => ({
        id: key,
        path: await pathOf(fileOf(update)),
        rawVector: update.rawVector,
        numSamples: update.numSamples,
        ...(update.controlSha256 === null ? {} : { controlPath: await pathOf(update.controlSha256) }),
        ...(baseSha256 === null ? {} : { basePath: await pathOf(baseSha256) }),
        ...(update.staleness === null ? {} : { staleness: update.staleness }),
      })),
    )

  const unmask = createUnmasking(context, parts)

  const aggregate = async (
    round: StoredRound,
    delivered: readonly DeliveredUpdate[],
    pathOf: PathOf,
  ): Promise<RoundAggregate> => {
    const isPlain = round.plan.options === undefined
    const outputPath = await blobs.scratchPath()
    const stateOutputPath = isPlain ? null : await blobs.scratchPath()
    const { controlVariates } = STRATEGY_RULES[round.plan.strategy]
    const controlOutputPath = controlVariates ? await blobs.scratchPath() : null
    const globalPath = await readableModelPath(layouts, round, pathOf)
    const unmasked = round.plan.secure === undefined ? null : await unmask(round, delivered, globalPath!, pathOf)
    const result = await workers.aggregate({
      strategy: { name: round.plan.strategy, options: round.plan.options ?? {} },
      globalPath,
      rawVector: round.plan.rawVector === true,
      ...(unmasked === null ? { updates: await inputsOf(delivered, pathOf) } : unmasked.inputs),
      statePath: round.stateSha256 === null ? null : await pathOf(round.stateSha256),
      stateOutputPath,
      controlOutputPath,
      population: round.plan.population ?? null,
      privacy: privacyOf(round, delivered),
      turn: turnOf(round),
      outputPath,
    })
    if (unmasked !== null) await rm(unmasked.scratchPath, { force: true })
    const output = await blobs.adopt(outputPath)
    const state = result.state.written ? await blobs.adopt(stateOutputPath!) : null
    const control = result.control.written ? await blobs.adopt(controlOutputPath!) : null
    const receipt = buildReceipt({
      strategy: round.plan.strategy,
      globalModelSha256: round.globalSha256,
      updates: delivered.map(({ update, key, deviceName, orgId, baseSha256 }) => ({
        deviceId: key,
        ...(key === deviceName ? {} : { namesake: { deviceId: deviceName, orgId } }),
        updateId: update.id,
        sha256: update.fileHash,
        numSamples: update.numSamples,
        controlSha256: update.controlSha256,
        baseModelSha256: baseSha256,
        staleness: update.staleness,
      })),
      weights: unmasked === null ? result.weights : weightsIn(round, delivered),
      outputSha256: output.sha256,
      ...(isPlain ? {} : { beyond: beyondPlain(round, state, control) }),
    })
    return { result, output, state, control, receipt, totals: unmasked?.totals ?? null }
  }

  const compare = async (
    round: StoredRound,
    delivered: readonly DeliveredUpdate[],
    pathOf: PathOf,
  ): Promise<ScreenedUpdate[] | null> => {
    const globalPath = await readableModelPath(layouts, round, pathOf)
    if (globalPath === null) return null
    const files = delivered.map(async ({ update, key }) => ({
      id: key,
      path: await pathOf(fileOf(update)),
      rawVector: update.rawVector,
    }))
    const screened = await workers.screen({
      globalPath,
      rawVector: round.plan.rawVector === true,
      updates: await Promise.all(files),
      scratchPath: await blobs.scratchPath(),
    })
    const idOf = new Map(delivered.map(({ update, key }) => [key, update.id]))
    return screened.map(({ id, norm, cosine, nonFinite }) => ({
      update_id: idOf.get(id)!,
      norm,
      cosine,
      non_finite: nonFinite,
    }))
  }

  return {
    /** Aggregates the updates according to the round's plan. Repeating it gives the same bytes. */
    aggregate: (round: StoredRound, delivered: readonly DeliveredUpdate[]): Promise<RoundAggregate> =>
      blobs.withPaths((pathOf) => aggregate(round, delivered, pathOf)),

    /**
     * How each update compares with the others. Null without a model to compare with, in secure rounds, and in private rounds,
     * because the privacy budget does not cover figures about single devices.
     */
    async screen(round: StoredRound, delivered: readonly DeliveredUpdate[]): Promise<ScreenedUpdate[] | null> {
      if (round.plan.secure !== undefined || round.privacy !== null) return null
      return blobs.withPaths((pathOf) => compare(round, delivered, pathOf))
    },
  }
}

/** The path of the distributed model, whose container the result uses; null if it cannot be read. */
const readableModelPath = async (
  layouts: Pick<ModelLayouts, 'layoutOf'>,
  { globalSha256: sha256, plan }: StoredRound,
  pathOf: PathOf,
): Promise<string | null> => {
  if (sha256 === null) return null
  const isReadable =
    STRATEGY_RULES[plan.strategy].trees || (await layouts.layoutOf(sha256, plan.rawVector === true)) !== null
  return isReadable ? pathOf(sha256) : null
}

/** Jobs begin with any of their devices: otherwise a series of jobs of one round would always use the same device's update. */
const turnOf = ({ id, jobId, plan }: StoredRound): number =>
  Number.parseInt((jobId ?? id).slice(-8), 16) + (plan.step ?? 0)

const fileOf = ({ id, sha256 }: DeliveredUpdate['update']): string => {
  if (sha256 === null) throw conflict(`The file of update ${id} was deleted after its retention period.`)
  return sha256
}

/** In a secure round, the weight of each update is known only if all have the same weight. */
const weightsIn = (round: StoredRound, delivered: readonly DeliveredUpdate[]) =>
  delivered.map(({ key }) => ({
    id: key,
    weight: round.plan.secure?.maxWeight === 1 ? 1 / delivered.length : null,
  }))

/** Other updates get other noise: after a backup is restored, a round may end again without some, and noise that is equal cancels out. */
const seedFor = (seed: string, delivered: readonly DeliveredUpdate[]): string => {
  const files = delivered.map(({ update }) => update.fileHash).sort()
  return createHmac('sha256', Buffer.from(seed, 'hex')).update(JSON.stringify(files)).digest('hex')
}

const privacyOf = (round: StoredRound, delivered: readonly DeliveredUpdate[]): PrivacyPlan | null => {
  const { privacy } = round
  if (privacy === null) return null
  if (round.noiseSeed === null) throw conflict("The seed of this round's noise was deleted with its updates.")
  const { clipNorm, noiseMultiplier, denominator, adaptiveClip, noise } = privacy
  const hardened = noise !== undefined
  const noiseSeed = noise === 'of-updates' ? seedFor(round.noiseSeed, delivered) : round.noiseSeed
  return { clipNorm, noiseMultiplier, denominator, noiseSeed, hardened, adaptive: adaptiveClip ? {} : null }
}

const beyondPlain = (round: StoredRound, state: StagedBlob | null, control: StagedBlob | null) => ({
  strategy_options: round.plan.options!,
  ...(round.plan.secure === undefined ? {} : { secure_aggregation: presentSecure(round.plan.secure) }),
  ...(round.plan.population === undefined ? {} : { population: round.plan.population }),
  ...(state === null ? {} : { state_sha256: round.stateSha256, next_state_sha256: state.sha256 }),
  ...(control === null ? {} : { next_control_sha256: control.sha256 }),
  ...(round.privacy === null || round.noiseSeed === null
    ? {}
    : {
        privacy: {
          noise_multiplier: round.privacy.noiseMultiplier,
          clip_norm: round.privacy.clipNorm,
          denominator: round.privacy.denominator,
          adaptive_clip: round.privacy.adaptiveClip,
          sample_rate: round.privacy.sampleRate,
          ...presentSampling(round.privacy),
          ...presentCost(round.privacy),
          noise_seed_sha256: createHash('sha256').update(round.noiseSeed).digest('hex'),
        },
      }),
})

export type RoundAggregation = ReturnType<typeof createRoundAggregation>
