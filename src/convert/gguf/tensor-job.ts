import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { badRequest } from '../../domain/errors.ts'
import { type BlockKernel, createBlockKernel, type SourceType, type TargetType } from './block-kernel.ts'
import { ggmlBytes } from './ggml-sizes.ts'

/** Converts some rows of a tensor from one file to another. Rows are whole blocks of both types. */
export interface TensorJob {
  readonly tensor: string
  readonly source: string
  readonly sourceOffset: number
  readonly target: string
  readonly targetOffset: number
  readonly columns: number
  readonly rows: number
  /** null copies bytes; `columns` then counts bytes. */
  readonly types: { readonly from: SourceType; readonly to: TargetType } | null
  /**
   * Reorders the rows of a query or key projection for llama.cpp's rotation: the two halves of each head are interleaved.
   * `sourceOffset` is then that of the whole tensor, and `firstRow` counts rows of the target.
   */
  readonly interleave: { readonly headRows: number; readonly firstRow: number } | null
}

/** Elements converted at a time, so that memory stays within a few megabytes for models of any size. */
const PIECE = 1 << 18

let kernel: BlockKernel | undefined

const readFully = (file: number, bytes: Uint8Array, position: number, { source, tensor }: TensorJob): void => {
  for (let filled = 0; filled < bytes.length; ) {
    const read = readSync(file, bytes, filled, bytes.length - filled, position + filled)
    if (read === 0) throw badRequest(`'${source}' became shorter while tensor '${tensor}' was read.`)
    filled += read
  }
}

const writeFully = (file: number, bytes: Uint8Array, position: number): void => {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, position + done)
}

const copy = (job: TensorJob, from: number, to: number): void => {
  const bytes = job.columns * job.rows
  const buffer = Buffer.allocUnsafe(Math.min(bytes, PIECE * 4))
  for (let at = 0; at < bytes; at += buffer.length) {
    const piece = buffer.subarray(0, Math.min(buffer.length, bytes - at))
    readFully(from, piece, job.sourceOffset + at, job)
    writeFully(to, piece, job.targetOffset + at)
  }
}

/** The source row of the target's row `row`. */
const sourceRow = (row: number, { headRows }: { readonly headRows: number }): number => {
  const inHead = row % headRows
  return row - inHead + (inHead % 2) * (headRows / 2) + Math.floor(inHead / 2)
}

const convert = (job: TensorJob, from: number, to: number, types: NonNullable<TensorJob['types']>): void => {
  kernel ??= createBlockKernel(ggmlBytes)
  const { columns, interleave } = job
  const all = columns * job.rows
  const step = interleave === null ? Math.min(all, PIECE) : columns * Math.max(1, Math.floor(PIECE / columns))
  for (let at = 0; at < all; at += step) {
    const elements = Math.min(step, all - at)
    const input = kernel.input(ggmlBytes(types.from, elements), elements)
    if (interleave === null) readFully(from, input, job.sourceOffset + ggmlBytes(types.from, at), job)
    else {
      const rowBytes = ggmlBytes(types.from, columns)
      for (let row = 0; row < elements / columns; row++) {
        const found = sourceRow(interleave.firstRow + at / columns + row, interleave)
        readFully(from, input.subarray(row * rowBytes, (row + 1) * rowBytes), job.sourceOffset + found * rowBytes, job)
      }
    }
    const output = kernel.convert(types.from, types.to, elements)
    if (output === null)
      throw badRequest(
        `Tensor '${job.tensor}' has a weight that is NaN, infinite, or too large for ${types.to}. ` +
          'A model with such weights does not work: export it again.',
      )
    writeFully(to, output, job.targetOffset + ggmlBytes(types.to, at))
  }
}

/** Throws bad_request naming the tensor. */
export const runTensorJob = (job: TensorJob): void => {
  const from = openSync(job.source, 'r')
  try {
    const to = openSync(job.target, 'r+')
    try {
      if (job.types === null) copy(job, from, to)
      else convert(job, from, to, job.types)
    } finally {
      closeSync(to)
    }
  } finally {
    closeSync(from)
  }
}
