import type { Executor } from '../../../platform/db/open.ts'
import { type ModelUses, roundModelsStore } from './round-models.store.ts'

export type { ModelUses } from './round-models.store.ts'

/** Deletes models of rounds, unless something needs them. */
export const createRoundModels = () => {
  const uses: ModelUses[] = []
  return {
    /** Adds a condition for models that a later module needs. Called when that module is created. */
    keepUsed(added: ModelUses): void {
      uses.push(added)
    },

    /**
     * Deletes those of these models that nothing needs, and returns their ids. Checks the uses after locking the models, so
     * that uses that began before count.
     */
    async deleteUnused(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
      return roundModelsStore.deleteUnused(tx, await roundModelsStore.lock(tx, modelIds), uses)
    },
  }
}

export type RoundModels = ReturnType<typeof createRoundModels>
