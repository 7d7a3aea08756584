import type { AggregationWorkers } from '../../../aggregation/worker-pool.ts'
import type { BlobStore, PathOf } from '../../../platform/blobs/blob-store.ts'
import { fileOf, withKeys } from './delivered-updates.service.ts'
import type { ModelContents } from './model-content.service.ts'
import type { ScreenedUpdate, StoredRound } from './rounds.store.ts'
import type { DeliveredUpdate } from './updates.report.ts'

/** Compares a round's updates with each other, before they are added up. */
export const createScreening = (parts: {
  readonly blobs: BlobStore
  readonly workers: Pick<AggregationWorkers, 'screen'>
  readonly contents: Pick<ModelContents, 'pathOf'>
}) => {
  const { blobs, workers, contents } = parts

  const compare = async (
    round: StoredRound,
    delivered: readonly DeliveredUpdate[],
    pathOf: PathOf,
  ): Promise<ScreenedUpdate[] | null> => {
    const globalPath = await contents.pathOf(round, pathOf)
    if (globalPath === null) return null
    const keyed = withKeys(delivered)
    const updates = await Promise.all(
      keyed.map(async ({ update, key }) => ({
        id: key,
        path: await pathOf(fileOf(update)),
        rawVector: update.rawVector,
      })),
    )
    const idOf = new Map(keyed.map(({ update, key }) => [key, update.id]))
    const screened = await workers.screen({
      globalPath,
      rawVector: round.plan.rawVector === true,
      updates,
      scratchPath: await blobs.scratchPath(),
    })
    return screened.map(({ id, norm, cosine, nonFinite }) => ({
      update_id: idOf.get(id)!,
      norm,
      cosine,
      non_finite: nonFinite,
    }))
  }

  return {
    /**
     * How every update looks beside the others; null where there is no model to measure from, or nothing to compare, and in
     * private rounds: no budget pays for figures about single devices.
     */
    async screen(round: StoredRound, delivered: readonly DeliveredUpdate[]): Promise<ScreenedUpdate[] | null> {
      if (round.plan.secure !== undefined || round.privacy !== null) return null
      return blobs.withPaths((pathOf) => compare(round, delivered, pathOf))
    },
  }
}

export type Screening = ReturnType<typeof createScreening>
