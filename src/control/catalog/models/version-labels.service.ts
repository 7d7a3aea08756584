import { conflict, notFound } from '../../../domain/errors.ts'
import { labelOf } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { versionsStore } from './versions.store.ts'

/**
 * The label to store with the model's next version, and a warning if it is not the one that its number implies. No two versions
 * of a model answer to the same label: plans and requests name versions by it (docs/decisions/0163). Locks the model.
 * @throws conflict for a label that an earlier version without a label answers to
 */
export const chooseLabel = async (
  tx: Executor,
  modelId: string,
  requested: string | undefined,
): Promise<{ readonly ownLabel: string | null; readonly warnings: readonly string[] }> => {
  const number = await versionsStore.lockNext(tx, modelId)
  if (number === null) throw notFound('Model', modelId)
  const label = requested ?? labelOf(number, null)
  const holder = await versionsStore.findByLabel(tx, modelId, label)
  if (requested !== undefined) {
    if (holder !== null && holder.ownLabel === null)
      throw conflict(
        `Version ${holder.version} of this model was uploaded without a label, and ${label} stands for it. ` +
          'Choose another version_label.',
      )
    return { ownLabel: requested, warnings: [] }
  }
  if (holder === null) return { ownLabel: null, warnings: [] }
  const free = await versionsStore.nextMajorLabel(tx, modelId)
  return {
    ownLabel: free,
    warnings: [`Version ${number} has the label ${free}, because version ${holder.version} has the label ${label}.`],
  }
}
