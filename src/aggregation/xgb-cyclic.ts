import { sharedTrees, writeTrees } from '../tensors/xgboost-trees.ts'
import type { TreeStrategy } from './trees.ts'

/**
 * Devices continue the training in turn, as in Flower's FedXgbCyclic: the result is one update. The turn counts rounds, not trees:
 * rounds add a constant number of trees, of which the number of updates may be a divisor.
 */
export const xgbCyclic: TreeStrategy = ({ model, updates, turn }) => {
  const chosen = turn % updates.length
  const update = updates[chosen]!
  // If a device sent only new trees, they are appended to the model's.
  const isWhole = model === null || sharedTrees(model, update) > 0 || model.trees.length === 0
  const bytes = isWhole ? writeTrees(update, []) : writeTrees(model, [{ model: update, from: 0 }])
  return { bytes, weights: updates.map((_, k) => (k === chosen ? 1 : 0)) }
}
