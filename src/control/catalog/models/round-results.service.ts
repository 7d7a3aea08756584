import type { VersionFormat } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { Conversions } from '../conversions/conversions.service.ts'
import { type ModelUses, modelsStore, type StoredModel } from './models.store.ts'
import { type StoredVersion, type VersionOrigin, versionsStore } from './versions.store.ts'

export type { ModelUses } from './models.store.ts'

/** What a finished round adds to the catalog. */
export interface Aggregate {
  readonly roundId: string
  readonly roundNumber: number
  /** The version that was trained: the result's weights fit its architecture. */
  readonly origin: { readonly model: StoredModel; readonly version: StoredVersion } | null
  /** The file's format, for a result without an origin. */
  readonly format: VersionFormat
  readonly orgId: string | null
  readonly accuracy: number | null
  readonly loss: number | null
  readonly description: string
  readonly file: { readonly sha256: string; readonly size: number; readonly fileName: string }
}

/** Returns the result's model. Rounds of a job train each other's results, so all are named after the job's first model. */
const aggregatedModel = (aggregate: Aggregate, made: Pick<StoredModel, 'id' | 'createdAt'>): StoredModel => {
  const { file: _, format: __, origin, roundNumber, ...fields } = aggregate
  const trained = origin?.model
  const name = trained?.name ?? trained?.roundName?.replace(/ \(round \d+\)$/, '')
  return {
    ...fields,
    ...made,
    name: null,
    roundName: name === undefined ? null : `${name} (round ${roundNumber})`,
    architectureModelId: trained?.architectureModelId ?? trained?.id ?? null,
    framework: trained?.framework ?? 'pytorch',
    frameworkVersion: trained?.frameworkVersion ?? '',
    isBaseline: false,
  }
}

/** The results of rounds: models of their own, most of which are soon not needed, and versions of the models that they trained. */
export const createRoundResults = (
  { database, events, now, newId }: Context,
  {
    conversions,
  }: {
    readonly conversions: Pick<Conversions, 'versionAdded'>
  },
) => {
  const uses: ModelUses[] = []

  return {
    /** Adds a round's result as a new model with version 1. Call it in the transaction that completes the round. */
    async addAggregate(tx: Executor, aggregate: Aggregate): Promise<StoredModel> {
      const { file, origin, format, description } = aggregate
      const model = aggregatedModel(aggregate, { id: newId(), createdAt: now() })
      await modelsStore.insert(tx, model)
      await versionsStore.insert(tx, {
        modelId: model.id,
        format: origin?.version.format ?? format,
        ownLabel: null,
        warnings: [],
        metadata: {},
        description,
        uploadedAt: model.createdAt,
        origin: null,
        ...file,
      })
      return model
    },

    /**
     * Adds a round's result to the model that it trained, as the next minor version: the same file, not a copy. Call it in the
     * transaction that records why. If the round was published before, returns that version. Null if either model is gone.
     */
    async publish(
      tx: Executor,
      modelId: string,
      result: VersionOrigin & { readonly modelId: string },
    ): Promise<StoredVersion | null> {
      if ((await versionsStore.lockNext(tx, modelId)) === null) return null
      const before = await versionsStore.ofRound(tx, modelId, result.roundId)
      const aggregate = before ?? (await versionsStore.find(tx, result.modelId, 'latest'))
      if (before !== null || aggregate === null) return before
      const { modelId: _, version: __, ...file } = aggregate
      const { roundId, roundNumber, jobId, metrics } = result
      const published = await versionsStore.insert(tx, {
        ...file,
        modelId,
        ownLabel: await versionsStore.nextMinorLabel(tx, modelId),
        warnings: [],
        uploadedAt: now(),
        origin: { roundId, roundNumber, jobId, metrics },
      })
      await conversions.versionAdded(tx, published)
      const orgId = (await modelsStore.find(tx, modelId))?.model.orgId ?? null
      await events.publish(tx, 'version.added', { modelId, orgId, version: published.version })
      return published
    },

    hasPublished: async (tx: Executor, jobId: string): Promise<boolean> =>
      (await versionsStore.ofJob(tx, jobId)).length > 0,

    /** Returns the versions that a job has added to the model that it trains, oldest first. */
    publishedBy: (jobId: string): Promise<StoredVersion[]> => versionsStore.ofJob(database.sql, jobId),

    /** Adds a condition for models of rounds that a later module needs. Called when that module is created. */
    keepUsed(added: ModelUses): void {
      uses.push(added)
    },

    /**
     * Deletes those of these models of rounds that nothing needs, and returns their ids. Checks the uses after locking the
     * models, so that uses that began before count.
     */
    async deleteUnused(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
      return modelsStore.deleteUnusedRoundModels(tx, await modelsStore.lockRoundModels(tx, modelIds), uses)
    },
  }
}

export type RoundResults = ReturnType<typeof createRoundResults>
