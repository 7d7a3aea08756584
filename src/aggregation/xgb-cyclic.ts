import { sharedTrees, writeTrees } from '../tensors/xgboost-trees.ts'
import type { TreeStrategy } from './trees.ts'

/**
 * One device after another goes on training, as with Flower's FedXgbCyclic: the result is one update. Which one changes
 * with the number of trees, so that several devices take turns.
 */
export const xgbCyclic: TreeStrategy = ({ model, updates }) => {
  const turn = (model?.trees.length ?? 0) % updates.length
  const update = updates[turn]!
  // What a device sent as new trees alone is put behind the model's.
  const isWhole = model === null || sharedTrees(model, update) > 0 || model.trees.length === 0
  const bytes = isWhole ? writeTrees(update, []) : writeTrees(model, [{ model: update, from: 0 }])
  return { bytes, weights: updates.map((_, k) => (k === turn ? 1 : 0)) }
}
