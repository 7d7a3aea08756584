import { conflict } from '../domain/errors.ts'
import { isTreeStrategy } from '../domain/strategy-rules.ts'
import { showName } from '../tensors/shape.ts'
import { BYTES_OF, elementCount } from '../tensors/weight-file.ts'
import type { AggregationJob, AggregationResult, Update } from './aggregation-messages.ts'
import { statisticsIn } from './batch-norm-statistics.ts'
import { createKernel, type Kernel } from './kernel.ts'
import { compareIds } from './receipt.ts'
import { chunksOf, nameOfUpdate, openRound, type RoundFiles } from './round-files.ts'
import { roundsIn } from './state-file.ts'
import { STRATEGIES, TREE_STRATEGIES } from './strategies.ts'
import type { Chunk, Strategy } from './strategy.ts'
import { aggregateTrees } from './trees.ts'
import { firstOpaque, passUnchanged } from './unchanged.ts'

/** Sorts updates by device ID, regardless of arrival. Throws conflict if they cannot be ordered or weighted. */
const inOrder = (updates: readonly Update[]): readonly Update[] => {
  if (updates.length === 0) throw conflict('There are no updates to aggregate.')
  const ordered = [...updates].sort((a, b) => compareIds(a.id, b.id))
  ordered.forEach(({ id, numSamples }, k) => {
    if (ordered[k - 1]?.id === id) throw conflict(`Device '${id}' has two updates in one aggregation.`)
    if (!Number.isSafeInteger(numSamples) || numSamples < 0)
      throw conflict(`The ${nameOfUpdate(id)} reports ${numSamples} samples; it must be a whole number of at least 0.`)
  })
  return ordered
}

/** Halves all sample counts until their sum is at most 2^53 and thus exact. Positive counts never become 0. */
const weighable = (samples: readonly number[]): readonly number[] => {
  const total = samples.reduce((sum, count) => sum + count, 0)
  return Number.isSafeInteger(total) ? samples : weighable(samples.map((count) => Math.ceil(count / 2)))
}

/**
 * Aggregates weight files into one, in chunks: memory depends neither on the model size nor, except for a few bytes per tensor,
 * on the number of updates (tree models are combined in memory). The same files, IDs, numbers, and seed give the same bytes.
 * Removes scratch files; a failed job leaves no output. Throws conflict naming the update and why it cannot be combined.
 */
export const aggregateFiles = async (job: AggregationJob): Promise<AggregationResult> => {
  const updates = inOrder(job.updates)
  const { name } = job.strategy
  if (isTreeStrategy(name)) return aggregateTrees(job, updates, TREE_STRATEGIES[name])
  const kernel = createKernel()
  const roundsBefore = job.statePath === null ? 0 : roundsIn(job.statePath)
  const strategy = STRATEGIES[name](kernel, {
    options: job.strategy.options,
    samples: weighable(updates.map(({ numSamples }) => numSamples)),
    staleness: updates.map(({ staleness }) => staleness ?? 0),
    population: job.population ?? updates.length,
    roundsBefore,
    privacy: job.privacy,
    hasMeanChange: job.meanChangePath !== undefined,
  })
  const opaque = firstOpaque(updates)
  if (opaque !== null) return passUnchanged(job, updates, opaque, strategy)
  const files = await openRound(job, updates, strategy)
  let done = false
  try {
    const { needsModel, statistics: found = [] } = files.template
    if (needsModel !== undefined && job.globalPath === null) throw conflict(needsModel)
    const statistics = found.length === 0 ? null : statisticsIn(job, files, found)
    combineInto(files, strategy, updates, kernel, statistics?.tensors ?? new Set())
    statistics?.merge()
    files.output.finish()
    files.controlOutput?.finish()
    files.state?.finish(roundsBefore + 1)
    done = true
    const { tensors } = files.template
    const weights = strategy.weights()
    return {
      format: files.output.weights.format,
      tensors: tensors.length,
      elements: tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0),
      weights: updates.map(({ id }, k) => ({ id, weight: weights[k]! })),
      state: { written: files.state !== null && job.stateOutputPath !== null },
      control: { written: files.controlOutput !== null },
      privacy: strategy.privacy?.() ?? null,
    }
  } finally {
    files.close(done)
  }
}

const combineInto = (
  files: RoundFiles,
  strategy: Strategy,
  updates: readonly Update[],
  kernel: Kernel,
  merged: ReadonlySet<number>,
): void => {
  const { template, output } = files
  const chunks = (tensor: number): Iterable<Chunk> => chunksOf(files, tensor, strategy.columns, updates, kernel)
  for (const survey of strategy.surveys?.() ?? [])
    for (const tensor of template.tensors.keys())
      if (output.tiedTo(tensor) === tensor && !merged.has(tensor)) for (const chunk of chunks(tensor)) survey(chunk)
  for (const tensor of template.tensors.keys()) {
    const first = output.tiedTo(tensor)
    if (merged.has(tensor)) continue
    if (first !== tensor && files.updates.tie(tensor, first)) continue
    for (const chunk of chunks(tensor)) {
      const result = kernel.bytes(strategy.combine(chunk), chunk.length * BYTES_OF[chunk.dtype])
      if (first === tensor) output.write(tensor, chunk.start, result)
      else if (Buffer.compare(output.read(first, chunk.start, chunk.length), result) !== 0)
        throw conflict(
          `Tensors ${showName(template.tensors[first]!.name)} and ${showName(chunk.tensor)} share one storage in the ` +
            'model, but the updates give them different values. Train them as one tensor.',
        )
    }
  }
}
