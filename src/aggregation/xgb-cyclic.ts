import { sharedTrees, writeTrees } from '../tensors/xgboost-trees.ts'
import type { TreeStrategy } from './trees.ts'

/**
 * Devices continue the training in turn, as in Flower's FedXgbCyclic: the result is one update, chosen by the number of
 * trees.
 */
export const xgbCyclic: TreeStrategy = ({ model, updates }) => {
  const turn = (model?.trees.length ?? 0) % updates.length
  const update = updates[turn]!
  // If a device sent only new trees, they are appended to the model's.
  const isWhole = model === null || sharedTrees(model, update) > 0 || model.trees.length === 0
  const bytes = isWhole ? writeTrees(update, []) : writeTrees(model, [{ model: update, from: 0 }])
  return { bytes, weights: updates.map((_, k) => (k === turn ? 1 : 0)) }
}
