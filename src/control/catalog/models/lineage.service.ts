import { type Caller, sees } from '../../../domain/access.ts'
import { labelOf } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { Conversions, StoredConversion } from '../conversions/conversions.service.ts'
import { aliasesStore } from './aliases.store.ts'
import type { ModelsService, StoredModel, StoredVersion } from './models.service.ts'

/** How a version was trained, as far as the caller may see it. */
export interface TrainingOrigin {
  readonly jobId: string | null
  readonly jobName: string | null
  readonly roundId: string
  readonly roundNumber: number
  readonly strategy: string
  readonly strategyOptions: Readonly<Record<string, unknown>>
  readonly selectedDevices: number
  readonly completedDevices: number
  readonly failedDevices: number
  /** The version that its round started from; null if it had no model. */
  readonly trainedFrom: { readonly modelId: string; readonly version: number } | null
  /** The privacy loss of all rounds of the job up to this one; null without noise. */
  readonly spent: { readonly epsilon: number; readonly delta: number; readonly rounds: number } | null
  readonly endedAt: Date | null
}

/** A plan that delivers a version, or delivered it. */
export interface VersionUse {
  readonly kind: 'rollout' | 'deployment' | 'experiment'
  readonly id: string
  readonly name: string | null
  readonly status: string
  /** Percentage of the devices in its scope; null for plans without one. */
  readonly percentage: number | null
  readonly createdAt: Date
}

/** Where a version runs: devices by their last reported state, and a limited number of uses, newest first. */
export interface VersionUses {
  readonly devices: Readonly<Record<string, number>>
  readonly uses: readonly VersionUse[]
}

export interface Lineage {
  readonly model: StoredModel
  readonly version: StoredVersion
  readonly aliases: readonly string[]
  readonly conversions: readonly StoredConversion[]
  /** Null for an upload, and for training that the caller may not see. */
  readonly training: TrainingOrigin | null
  /** Null for a model of another organization that a federation shares. */
  readonly runs: VersionUses | null
}

type OriginOf = (caller: Caller, roundId: string) => Promise<TrainingOrigin | null>
interface Delivery {
  /** Finds a version by its number, or by its texts in plans without a number. */
  usesOf(
    db: Executor,
    modelId: string,
    version: { readonly number: number; readonly texts: readonly string[] },
  ): Promise<VersionUses>
  /** Returns the numbers of the versions that plans deliver to devices now, as far as the caller sees these plans. */
  deliveredOf(caller: Caller, modelId: string): Promise<readonly number[]>
}

/** Where versions came from and where they run. Later modules know that, and provide it when they are created. */
export const createLineage = (
  { database }: Context,
  {
    models,
    conversions,
  }: {
    readonly models: Pick<ModelsService, 'findVersion'>
    readonly conversions: Pick<Conversions, 'ofModel'>
  },
) => {
  let originOf: OriginOf = async () => null
  let delivery: Delivery = { usesOf: async () => ({ devices: {}, uses: [] }), deliveredOf: async () => [] }

  return {
    followTraining(response: OriginOf): void {
      originOf = response
    },

    followDelivery(response: Delivery): void {
      delivery = response
    },

    deliveredOf: (caller: Caller, modelId: string) => delivery.deliveredOf(caller, modelId),

    async of(caller: Caller, modelId: string, reference: string): Promise<Lineage> {
      const { model, version } = await models.findVersion(caller, modelId, reference)
      const named = await aliasesStore.list(database.sql, model.id)
      // Later versions of a round's model were uploaded.
      const roundId = version.origin?.roundId ?? (version.version === 1 ? model.roundId : null)
      const isOwn = sees(caller, model.orgId)
      // Delivery stores a version as it was requested: by its label or its number.
      const texts = [labelOf(version.version, version.ownLabel), String(version.version)]
      return {
        model,
        version,
        aliases: named.flatMap((one) => (one.version === version.version ? one.alias : [])),
        conversions: (await conversions.ofModel(model.id)).filter((one) => one.version === version.version),
        training: roundId === null ? null : await originOf(caller, roundId),
        runs: isOwn ? await delivery.usesOf(database.sql, model.id, { number: version.version, texts }) : null,
      }
    },
  }
}

export type LineageService = ReturnType<typeof createLineage>
