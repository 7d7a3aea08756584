import { sharedTrees, writeTrees } from '../tensors/xgboost-trees.ts'
import type { TreeStrategy } from './trees.ts'

/**
 * Combines the model's trees with all new trees of every update, whose predictions then add up, as in Flower's
 * FedXgbBagging. An update is either the whole model after more boosting or the new trees alone.
 */
export const xgbBagging: TreeStrategy = ({ model, updates }) => {
  const first = model ?? updates[0]!
  const additions = updates.slice(model === null ? 1 : 0).map((update) => ({
    model: update,
    from: model === null ? 0 : sharedTrees(model, update),
  }))
  return { bytes: writeTrees(first, additions), weights: updates.map(() => 1 / updates.length) }
}
