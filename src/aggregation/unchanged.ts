import { constants, copyFileSync } from 'node:fs'
import { conflict } from '../domain/errors.ts'
import { detectFormat, titleOf } from '../tensors/detect.ts'
import type { DetectedFormat } from '../tensors/formats.ts'
import { whyOpaque } from '../tensors/read-weights.ts'
import type { AggregationJob, AggregationResult, Update } from './aggregation-messages.ts'
import { withFile } from './files.ts'
import { nameIn } from './round-files.ts'
import type { Strategy } from './strategy.ts'

const COMPARE_BYTES = 1024 * 1024

interface Opaque {
  readonly update: Update
  readonly format: DetectedFormat | null
  readonly advice: string
}

/** Returns the first update, in order, that holds no weights; null if all do. */
export const firstOpaque = (updates: readonly Update[]): Opaque | null => {
  for (const update of updates) {
    if (update.rawVector) continue
    const found = withFile(update.path, (file) => {
      const format = detectFormat(file)
      return { format, advice: whyOpaque(file, format) }
    })
    if (found.advice !== null) return { update, format: found.format, advice: found.advice }
  }
  return null
}

/**
 * Returns content that cannot be aggregated unchanged if all updates are byte-identical, privacy is off, and the strategy
 * needs only the updates. Throws conflict naming the update and its detected format.
 */
export const passUnchanged = (
  job: AggregationJob,
  updates: readonly Update[],
  { update, format, advice }: Opaque,
  strategy: Pick<Strategy, 'needs'>,
): AggregationResult => {
  const what = `The ${nameIn(job, update.id)} is ${titleOf(format)}`
  if (job.privacy !== null || Object.keys(strategy.needs ?? {}).length > 0)
    throw conflict(
      `${what}, and strategy '${job.strategy.name}'${job.privacy === null ? '' : ' with privacy'} works on tensors. ` +
        advice,
    )
  const other = updates.find(({ path }) => path !== updates[0]!.path && !sameBytes(path, updates[0]!.path))
  if (other !== undefined)
    throw conflict(
      `${what}, which cannot be aggregated: the ${updates.length} updates differ, and only identical ones become the result ` +
        `unchanged. ${advice}${format === null ? ' For float32 vectors start the round with raw_vector: true.' : ''}`,
    )
  copyFileSync(update.path, job.outputPath, constants.COPYFILE_FICLONE)
  const total = updates.reduce((sum, { numSamples }) => sum + numSamples, 0)
  return {
    format,
    tensors: 0,
    elements: 0,
    weights: updates.map(({ id, numSamples }) => ({
      id,
      weight: total === 0 ? 1 / updates.length : numSamples / total,
    })),
    state: { written: false },
    control: { written: false },
    privacy: null,
  }
}

const sameBytes = (a: string, b: string): boolean =>
  withFile(a, (one) =>
    withFile(b, (other) => {
      if (one.size !== other.size) return false
      for (let at = 0; at < one.size; at += COMPARE_BYTES) {
        const length = Math.min(COMPARE_BYTES, one.size - at)
        if (Buffer.compare(one.read(at, length), other.read(at, length)) !== 0) return false
      }
      return true
    }),
  )
