import { conflict } from '../domain/errors.ts'
import { BYTES_OF } from '../tensors/weight-file.ts'
import type { Screened, ScreeningJob } from './aggregation-messages.ts'
import { createKernel, type FloatType, isFloat, type Kernel } from './kernel.ts'
import { rankMean } from './rank-mean.ts'
import { compareIds } from './receipt.ts'
import { chunksOf, modelSource, nameOfTemplate, padRow, readTemplate, updateSource } from './round-files.ts'
import type { Chunk } from './strategy.ts'
import { WeightRows } from './weight-rows.ts'

/**
 * Compares the updates of a round before they are combined: the norm of each change, its cosine to the coordinate-wise
 * median change, and its non-finite elements, which otherwise count as unchanged. One pass over the model in bounded memory.
 * Throws conflict naming an update that cannot be compared with the others.
 */
export const screenUpdates = async (job: ScreeningJob): Promise<readonly Screened[]> => {
  const updates = [...job.updates].sort((a, b) => compareIds(a.id, b.id))
  if (updates.length === 0) throw conflict('There are no updates to screen.')
  const model = modelSource(job)
  const template = readTemplate(model ?? updates[0]!)
  const sources = updates.map(updateSource)
  const rows = await WeightRows.open(sources, template, `${job.scratchPath}.row`, nameOfTemplate(job, updates))
  let global: WeightRows | null = null
  try {
    if (model !== null) global = await WeightRows.open([model], template, `${job.scratchPath}.global`)
    const others = { bases: null, controls: null, state: null, meanChange: null, controlOutput: null, isPrivate: false }
    const files = { template, updates: rows, global, ...others }
    const output = { tiedTo: (tensor: number) => tensor }
    const kernel = createKernel()
    const comparison = compareWithMedian(kernel, updates.length, global !== null)
    const seen = new Set<number>()
    for (const [tensor, { dtype, byteOffset, deflated }] of template.tensors.entries()) {
      // Counts tied tensors once.
      if (!isFloat(dtype) || (deflated === null && seen.has(byteOffset))) continue
      seen.add(byteOffset)
      for (const chunk of chunksOf({ ...files, output }, tensor, comparison.columns, updates, kernel))
        comparison.add(chunk)
    }
    return updates.map(({ id }, k) => ({ id, ...comparison.of(k) }))
  } finally {
    rows.close()
    global?.close()
  }
}

const compareWithMedian = (kernel: Kernel, rows: number, hasGlobal: boolean) => {
  const median = rankMean(kernel, rows, Math.floor((rows - 1) / 2), Math.floor(rows / 2) + 1)
  const bytes = median.columns * 8
  const allocate = (): number => kernel.allocate(bytes)
  const [row, origin, global] = [allocate(), allocate(), allocate()]
  const [middle, zero, update] = [allocate(), allocate(), allocate()]
  const squares = new Float64Array(rows)
  const products = new Float64Array(rows)
  const nonFinite = new Float64Array(rows)
  let medianSquare = 0

  /** Replaces NaN and infinite elements with the global model's values; returns how many. */
  const repair = (dtype: FloatType, address: number, length: number): number => {
    const itemBytes = BYTES_OF[dtype]
    let count = 0
    for (let at = 0; at < length; at++) {
      const next = kernel.firstNonFinite(dtype, address + at * itemBytes, length - at)
      if (next === -1) break
      at += next
      count += 1
      kernel.bytes(address + at * itemBytes, itemBytes).set(kernel.bytes(origin + at * itemBytes, itemBytes))
    }
    return count
  }

  return {
    columns: median.columns,
    add: (chunk: Chunk): void => {
      const { length } = chunk
      const dtype = chunk.dtype as FloatType
      if (hasGlobal) chunk.loadGlobal(origin)
      else kernel.bytes(origin, bytes).fill(0)
      kernel.decode(dtype, origin, global, length)
      const load = (k: number, address: number): void => {
        chunk.load(k, address)
        repair(dtype, address, length)
      }
      const values = median.combine({ ...chunk, load })
      padRow(kernel, dtype, values, length)
      kernel.decode(dtype, values, middle, length)
      kernel.addDelta(global, zero, middle, length, -1)
      medianSquare += kernel.squaredDistance(middle, zero, length)
      for (let k = 0; k < rows; k++) {
        chunk.load(k, row)
        nonFinite[k]! += repair(dtype, row, length)
        kernel.decode(dtype, row, update, length)
        squares[k]! += kernel.squaredDistance(update, global, length)
        products[k]! += kernel.projection(update, global, middle, length)
      }
    },
    of: (k: number): Omit<Screened, 'id'> => {
      const norm = Math.sqrt(squares[k]!)
      const scale = norm * Math.sqrt(medianSquare)
      return {
        norm,
        cosine: scale > 0 && Number.isFinite(scale) ? Math.min(1, Math.max(-1, products[k]! / scale)) : null,
        nonFinite: nonFinite[k]!,
      }
    },
  }
}
