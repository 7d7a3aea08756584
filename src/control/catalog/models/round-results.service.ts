import type { VersionFormat } from '../../../domain/model.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus } from '../../events.ts'
import type { Conversions } from '../conversions/conversions.service.ts'
import type { ModelsStore, StoredModel } from './models.store.ts'
import type { StoredVersion, VersionOrigin, VersionsStore } from './versions.store.ts'

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

/** The results of rounds: models of their own, and versions of the models that they trained. */
export const createRoundResults = ({
  database,
  store,
  versions,
  conversions,
  events,
  now,
  newId,
}: {
  readonly database: Database
  readonly store: Pick<ModelsStore, 'find' | 'insert'>
  readonly versions: VersionsStore
  readonly conversions: Pick<Conversions, 'versionAdded'>
  readonly events: Pick<ControlEventBus, 'publish'>
  readonly now: () => Date
  readonly newId: () => string
}) => ({
  /** Adds a round's result as a new model with version 1. Call it in the transaction that completes the round. */
  async addAggregate(tx: Executor, aggregate: Aggregate): Promise<StoredModel> {
    const { file, origin, format, description } = aggregate
    const model = aggregatedModel(aggregate, { id: newId(), createdAt: now() })
    await store.insert(tx, model)
    await versions.insert(tx, {
      modelId: model.id,
      format: origin?.version.format ?? format,
      ownLabel: null,
      warnings: [],
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
    if ((await versions.lockNext(tx, modelId)) === null) return null
    const before = await versions.ofRound(tx, modelId, result.roundId)
    const aggregate = before ?? (await versions.find(tx, result.modelId, 'latest'))
    if (before !== null || aggregate === null) return before
    const { modelId: _, version: __, ...file } = aggregate
    const { roundId, roundNumber, jobId, metrics } = result
    const published = await versions.insert(tx, {
      ...file,
      modelId,
      ownLabel: await versions.nextMinorLabel(tx, modelId),
      warnings: [],
      uploadedAt: now(),
      origin: { roundId, roundNumber, jobId, metrics },
    })
    await conversions.versionAdded(tx, published)
    const orgId = (await store.find(tx, modelId))?.model.orgId ?? null
    await events.publish(tx, 'version.added', { modelId, orgId, version: published.version })
    return published
  },

  hasPublished: async (tx: Executor, jobId: string): Promise<boolean> => (await versions.ofJob(tx, jobId)).length > 0,

  /** Returns the versions that a job has added to the model that it trains, oldest first. */
  publishedBy: (jobId: string): Promise<StoredVersion[]> => versions.ofJob(database.sql, jobId),
})
