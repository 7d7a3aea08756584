import type { AggregationWorkers } from '../../../aggregation/worker-pool.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { notAggregable } from '../../../domain/model.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { BlobStore, PathOf } from '../../../platform/blobs/blob-store.ts'
import { titleOf } from '../../../tensors/describe-format.ts'
import type { Layout } from '../../../tensors/layout.ts'
import { namesRawVector } from '../../../tensors/raw.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import type { StoredRound } from './rounds.store.ts'

/** What a round or a job can make of a model's file. */
export interface ModelContent {
  /** It is a bare float32 vector. */
  readonly rawVector: boolean
  /** Why its tensors cannot be read; null: they can. */
  readonly unreadable: string | null
  readonly warning: string | null
}

/** Whether models can be aggregated, by their files. */
export const createModelContents = (parts: {
  readonly blobs: BlobStore
  readonly workers: Pick<AggregationWorkers, 'inspect'>
}) => {
  const { blobs, workers } = parts

  const contents = {
    /** The tensors of a stored file; null where they cannot be read. */
    async layoutOf(sha256: string, rawVector: boolean): Promise<Layout | null> {
      try {
        const rawVectors = rawVector ? 'declared' : 'none'
        return await blobs.withPaths(
          async (pathOf) => (await workers.inspect(await pathOf(sha256), { expected: null, rawVectors })).layout,
        )
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'bad_request') return null
        throw error
      }
    },

    /** Where the round's distributed model lies, which lends its container to the result; null where it cannot be read. */
    pathOf: async ({ globalSha256: sha256, plan }: StoredRound, pathOf: PathOf): Promise<string | null> =>
      sha256 !== null &&
      (STRATEGY_RULES[plan.strategy].trees || (await contents.layoutOf(sha256, plan.rawVector === true)) !== null)
        ? pathOf(sha256)
        : null,

    /**
     * Looks at the model that a round or job is to start from. A bare vector is `declared` by the starter or by its file's
     * name, or else taken for one where that is `guessed` and plausible. Throws bad_request where the starter's word is wrong.
     */
    async judge(
      version: StoredVersion,
      {
        declared,
        guessed,
        trees = false,
      }: { readonly declared: boolean; readonly guessed: boolean; readonly trees?: boolean },
    ): Promise<ModelContent> {
      const isVector = declared || namesRawVector(version.fileName)
      const rawVectors = isVector ? 'declared' : guessed ? 'plausible' : 'none'
      try {
        const { format, rawVector, layout, warning, advice } = await blobs.withPaths(async (pathOf) =>
          workers.inspect(await pathOf(version.sha256), { expected: null, rawVectors, trees }),
        )
        if (declared && !rawVector) {
          throw badRequest(`raw_vector: the model's file is ${titleOf(format)}. Leave raw_vector out.`)
        }
        const unreadable =
          layout === null && !trees ? notAggregable({ title: titleOf(format), advice: advice ?? '' }) : null
        return { rawVector, unreadable, warning: rawVector ? warning : null }
      } catch (error) {
        if (declared || !(error instanceof ServiceError) || error.code !== 'bad_request') throw error
        return { rawVector: false, unreadable: error.message, warning: null }
      }
    },

    /**
     * Whether a round's model and updates are bare vectors. Its model is looked at only where something hangs on it.
     * Throws bad_request where it cannot be read and `isNeeded`, or is not what the starter declared.
     */
    async ofRound(
      version: StoredVersion | null,
      {
        declared,
        isNeeded,
        trees = false,
      }: { readonly declared: boolean; readonly isNeeded: boolean; readonly trees?: boolean },
    ): Promise<boolean> {
      if (trees && declared)
        throw badRequest('raw_vector: the strategy combines models of trees. Leave raw_vector out.')
      if (version === null) return declared
      if (trees) {
        const { unreadable } = await contents.judge(version, { declared, guessed: false, trees })
        if (unreadable !== null) throw badRequest(`global_model_id: ${unreadable}`)
        return false
      }
      if (!declared && !isNeeded && !namesRawVector(version.fileName)) return false
      const { rawVector, unreadable } = await contents.judge(version, { declared, guessed: isNeeded })
      if (isNeeded && unreadable !== null) throw badRequest(`global_model_id: ${unreadable}`)
      return rawVector
    },
  }
  return contents
}

export type ModelContents = ReturnType<typeof createModelContents>
