import type { Executor } from '../../../platform/db/open.ts'
import type { ModelUses, RoundModelsStore } from './round-models.store.ts'

export type { ModelUses } from './round-models.store.ts'

/** Deletes models of rounds, unless something needs them. */
export const createRoundModels = ({ store }: { readonly store: RoundModelsStore }) => {
  const uses: ModelUses[] = []
  return {
    /** Later modules say this way which models they need, when they are created. */
    keepUsed(added: ModelUses): void {
      uses.push(added)
    },

    /**
     * Deletes those of these models that nothing needs, and returns their ids. The uses are looked at when the models are
     * locked: what began in between counts.
     */
    async deleteUnused(tx: Executor, modelIds: readonly string[]): Promise<string[]> {
      return store.deleteUnused(tx, await store.lock(tx, modelIds), uses)
    },
  }
}

export type RoundModels = ReturnType<typeof createRoundModels>
