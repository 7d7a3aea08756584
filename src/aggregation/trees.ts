import { statSync, writeFileSync } from 'node:fs'
import { conflict } from '../domain/errors.ts'
import { readTrees, type TreeModel, treeLayoutOf, treesDiffer } from '../tensors/xgboost-trees.ts'
import type { AggregationJob, AggregationResult, Update } from './aggregation-messages.ts'
import { withFile } from './files.ts'
import { nameOfUpdate } from './round-files.ts'
import { blame } from './weight-rows.ts'

/** Combines tree models. Row k is the update with the k-th smallest device ID. */
export type TreeStrategy = (round: {
  /** The distributed model; null if there is none. */
  readonly model: TreeModel | null
  readonly updates: readonly TreeModel[]
  readonly turn: number
}) => {
  readonly bytes: Uint8Array
  /** The weight of each row, with a sum of 1. */
  readonly weights: readonly number[]
}

export const readTreeFile = (path: string): TreeModel => withFile(path, readTrees)

const MAX_TOTAL_BYTES = 1024 * 1024 * 1024

const readTreesOf = (label: string, path: string): TreeModel => {
  try {
    return readTreeFile(path)
  } catch (error) {
    return blame(label, error)
  }
}

/** Combines tree models in memory. Throws conflict naming the update that does not match the others, and why. */
export const aggregateTrees = (
  job: AggregationJob,
  updates: readonly Update[],
  strategy: TreeStrategy,
): AggregationResult => {
  if (job.privacy !== null) throw conflict(`Strategy '${job.strategy.name}' does not work with privacy.`)
  const paths = [...(job.globalPath === null ? [] : [job.globalPath]), ...updates.map(({ path }) => path)]
  const total = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  if (total > MAX_TOTAL_BYTES)
    throw conflict(`The tree models have ${total} bytes in total; at most ${MAX_TOTAL_BYTES} can be combined.`)
  const model = job.globalPath === null ? null : readTreesOf('model of the round', job.globalPath)
  const models = updates.map(({ id, path }) => readTreesOf(nameOfUpdate(id), path))
  const layouts = models.map(treeLayoutOf)
  const first = layouts[0]!
  const expected = model === null ? first : treeLayoutOf(model)
  for (const [k, update] of layouts.entries()) {
    // A model without trees does not determine the categories, so updates are compared with each other too.
    const difference = treesDiffer(expected, update) ?? treesDiffer(first, update)
    if (difference !== null)
      throw conflict(`The ${nameOfUpdate(updates[k]!.id)} cannot be combined with the others: ${difference}.`)
  }
  const { bytes, weights } = strategy({ model, updates: models, turn: job.turn ?? 0 })
  writeFileSync(job.outputPath, bytes)
  return {
    format: expected.format,
    tensors: 0,
    elements: 0,
    weights: updates.map(({ id }, k) => ({ id, weight: weights[k]! })),
    state: { written: false },
    control: { written: false },
    privacy: null,
  }
}
