import { open, rename, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { padded } from '../../inference/models/gguf/container.ts'
import { startBytes, tensorBytes } from '../../inference/models/gguf/write-header.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { JobThread } from '../../platform/threads/job-thread.ts'
import { startThread } from '../../platform/threads/start-thread.ts'
import type { SourceType, TargetType } from './block-kernel.ts'
import { ggmlBytes, ggmlType } from './ggml-sizes.ts'
import type { TensorJob } from './tensor-job.ts'

/** A tensor to write and the position of its weights. */
export interface PlannedTensor {
  readonly name: string
  /** Fastest dimension first. */
  readonly shape: readonly number[]
  readonly source: string
  readonly sourceOffset: number
  readonly sourceType: string
  readonly type: string
  /** Rows per head, if llama.cpp needs the halves of heads interleaved; see TensorJob. */
  readonly headRows?: number
}

export interface WriteOptions {
  /** Default: one per processor. */
  readonly threads?: number
  /** Bytes of the target: written and total. */
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

export type TensorReply =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string }

/** Elements per job: few enough that all threads stay busy until the end. */
const JOB_ELEMENTS = 1 << 22

/**
 * Writes a GGUF file of these metadata entries (as bytes) and tensors, converting their types on worker threads. `target`
 * appears once it is complete. Memory use does not depend on the model size. Throws bad_request naming a tensor that cannot
 * be converted, or the abort reason of `signal`. Returns the size of the file in bytes.
 */
export const writeGguf = async (
  target: string,
  entries: readonly Buffer[],
  tensors: readonly PlannedTensor[],
  alignment: number,
  options: WriteOptions = {},
): Promise<number> => {
  options.signal?.throwIfAborted()
  const pieces = [startBytes(tensors.length, entries.length), ...entries]
  const offsets: number[] = []
  let end = 0
  for (const tensor of tensors) {
    offsets.push(end)
    pieces.push(tensorBytes({ ...tensor, typeNumber: ggmlType(tensor.type).number }, end))
    end += padded(ggmlBytes(tensor.type, elementsOf(tensor)), alignment)
  }
  const head = Buffer.concat(pieces)
  const dataStart = padded(head.length, alignment)
  const part = `${target}.${process.pid}.part`
  await makeFolder(dirname(target))
  try {
    const file = await open(part, 'w')
    try {
      await file.writeFile(head)
      // Padding between tensors and after the last one stays zero.
      await file.truncate(dataStart + end)
      const jobs = tensors.flatMap((tensor, index) => jobsOf(tensor, part, dataStart + offsets[index]!))
      await runJobs(jobs, options)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, target)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return dataStart + end
}

const elementsOf = ({ shape }: Pick<PlannedTensor, 'shape'>): number =>
  shape.reduce((product, size) => product * size, 1)

const jobsOf = (tensor: PlannedTensor, target: string, targetOffset: number): TensorJob[] => {
  const { name, source, sourceOffset, sourceType, type, headRows } = tensor
  const elements = elementsOf(tensor)
  const isCopy = sourceType === type && headRows === undefined
  // A bias whose rows are reordered has rows of one element.
  const row = headRows !== undefined && tensor.shape.length === 1 ? 1 : tensor.shape[0]!
  const columns = isCopy ? ggmlBytes(type, row) : row
  const allRows = elements / row
  const rowsAtOnce = Math.max(1, Math.floor(JOB_ELEMENTS / row))
  return Array.from({ length: Math.ceil(allRows / rowsAtOnce) }, (_, index) => {
    const firstRow = index * rowsAtOnce
    return {
      tensor: name,
      source,
      sourceOffset: headRows === undefined ? sourceOffset + ggmlBytes(sourceType, firstRow * row) : sourceOffset,
      target,
      targetOffset: targetOffset + ggmlBytes(type, firstRow * row),
      columns,
      rows: Math.min(rowsAtOnce, allRows - firstRow),
      types: isCopy ? null : { from: sourceType as SourceType, to: type as TargetType },
      interleave: headRows === undefined ? null : { headRows, firstRow },
    }
  })
}

const bytesOf = ({ types, columns, rows }: TensorJob): number =>
  types === null ? columns * rows : ggmlBytes(types.to, columns * rows)

const runJobs = async (jobs: readonly TensorJob[], { threads, onProgress, signal }: WriteOptions): Promise<void> => {
  const total = jobs.reduce((sum, job) => sum + bytesOf(job), 0)
  let done = 0
  const waiting = [...jobs].reverse()
  const count = Math.max(1, Math.min(threads ?? availableParallelism(), jobs.length))
  const workers = Array.from(
    { length: count },
    () => new JobThread<TensorJob, TensorReply>(() => startThread(import.meta.url, 'tensor-job.worker')),
  )
  const closeAll = (reason: Error) => Promise.all(workers.map((worker) => worker.close(reason)))
  const abort = (): void => void closeAll(signal?.reason)
  signal?.addEventListener('abort', abort)
  try {
    await Promise.all(
      workers.map(async (worker) => {
        for (let job = waiting.pop(); job !== undefined; job = waiting.pop()) {
          const reply = await worker.run(job)
          if (!reply.ok) throw new ServiceError(reply.code, reply.message)
          done += bytesOf(job)
          onProgress?.(done, total)
        }
      }),
    )
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', abort)
    waiting.length = 0
    await closeAll(new Error('The file is complete.'))
  }
}
