import { ftruncateSync } from 'node:fs'
import { summedTensors } from '../secure-aggregation/coordinates.ts'
import { decodeMeans, readTotals, type SumTotals, TRAILER } from '../secure-aggregation/fixed-point.ts'
import { addMasks, addWords, type MaskStream } from '../secure-aggregation/mask.ts'
import { createPlatformAgreement, platformExpandMask } from '../secure-aggregation/platform-crypto.ts'
import type { SecureSettings } from '../secure-aggregation/settings.ts'
import { unmaskingStreams } from '../secure-aggregation/unmask.ts'
import { writePieces } from '../tensors/container-plan.ts'
import { decodeElements, encodeElements, readTensorBytes, readTensorFloats } from '../tensors/elements.ts'
import type { WeightFile } from '../tensors/formats.ts'
import { layoutOf } from '../tensors/layout.ts'
import { writeTensorBytes } from '../tensors/patch.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { BYTES_OF, elementCount, isDirect, type Tensor } from '../tensors/weight-file.ts'
import { planSafetensors } from '../tensors/write-safetensors.ts'
import type { UnmaskingJob } from './aggregation-messages.ts'
import { FilePool, type OpenFile, openFile } from './files.ts'
import { beyondType } from './non-finite.ts'
import { StateFile } from './state-file.ts'

/** 64 KB: stays in the cache while all streams are added to it. */
const CHUNK_WORDS = 16 * 1024

/** The mean change of a tensor's elements from `start` on. */
interface PartOfMean {
  readonly tensor: Tensor
  readonly start: number
  readonly means: Float64Array<ArrayBuffer>
}

/**
 * Turns the masked updates of a secure round into their mean. Returns their total weight, and their mean loss and accuracy. The
 * same messages give the same bytes. Memory: one chunk, plus one tensor if the global model's tensors are not stored
 * contiguously. @throws conflict if a share turns out to be wrong, or the
 * result exceeds the range of a tensor's type
 */
export const unmaskUpdates = async (job: UnmaskingJob): Promise<SumTotals> => {
  const { round, paths, outputPath } = job
  const streams = await unmaskingStreams(round, job.received, createPlatformAgreement())
  const sums = sumOf(paths, streams)
  const source = openFile(job.globalPath, 'r')
  try {
    const totals = readTotals(sums.read(job.words - TRAILER, TRAILER), round.settings)
    const file = readWeights(source, { rawVector: job.rawVector })
    const parts = meansOf(sums, file, totals, round.settings)
    if (job.output === 'model') writeModel(source, file, parts, outputPath)
    else writeChange(file, parts, outputPath)
    return totals
  } finally {
    sums.close()
    source.close()
  }
}

/** Writes a .safetensors file with the global model plus the mean change. */
const writeModel = (source: OpenFile, file: WeightFile, parts: Iterable<PartOfMean>, path: string): void => {
  const output = openFile(path, 'w+')
  try {
    const plan = planSafetensors(layoutOf(file))
    ftruncateSync(output.fd, plan.size)
    writePieces(output, plan)
    const places = new Map(plan.file.tensors.map((tensor) => [tensor.name, tensor]))
    const summed = summedTensors(file.tensors)
    for (const tensor of file.tensors.filter((one) => !summed.includes(one))) {
      writeTensorBytes(output, places.get(tensor.name)!, readTensorBytes(source, tensor))
    }
    let valuesAt: ReturnType<typeof chunksOf> | undefined
    for (const { tensor, start, means } of parts) {
      if (start === 0 || valuesAt === undefined) valuesAt = chunksOf(source, tensor)
      const before = valuesAt(start, means.length)
      for (let i = 0; i < means.length; i++) means[i] = means[i]! + before[i]!
      const offset = places.get(tensor.name)!.byteOffset + start * BYTES_OF[tensor.dtype]
      const bytes = encodeElements(means, tensor.dtype)
      // No single update can be blamed: only their mean is known.
      if (!decodeElements(bytes, tensor.dtype).every(Number.isFinite))
        throw beyondType({ tensor: tensor.name, dtype: tensor.dtype })
      output.write(offset, bytes)
    }
  } finally {
    output.close()
  }
}

/** Writes only the mean change, unrounded, as a `StateFile` with one vector. */
const writeChange = (file: WeightFile, parts: Iterable<PartOfMean>, path: string): void => {
  const output = new StateFile(file, [0], { before: null, after: path })
  try {
    for (const { tensor, start, means } of parts) {
      output.save(0, file.tensors.indexOf(tensor), start, new Uint8Array(means.buffer))
    }
  } finally {
    output.close()
  }
}

/** The mean change of all summed tensors, in the protocol's order. */
function* meansOf(
  sums: ReturnType<typeof sumOf>,
  file: WeightFile,
  totals: SumTotals,
  settings: SecureSettings,
): Generator<PartOfMean> {
  let at = 0
  for (const tensor of summedTensors(file.tensors)) {
    const count = elementCount(tensor.shape)
    for (let start = 0; start < count; start += CHUNK_WORDS) {
      const means = new Float64Array(Math.min(CHUNK_WORDS, count - start))
      decodeMeans(sums.read(at + start, means.length), totals, settings, means)
      yield { tensor, start, means }
    }
    at += count
  }
}

/** Reads any part of the sum of masked files and removes the masks. */
const sumOf = (paths: readonly string[], streams: readonly MaskStream[]) => {
  const files = new FilePool(paths)
  return {
    read(offset: number, length: number): Uint32Array {
      const sum = new Uint32Array(length)
      const words = new Uint32Array(length)
      for (let index = 0; index < paths.length; index++) {
        files.read(index, new Uint8Array(words.buffer), offset * 4)
        addWords(sum, words)
      }
      addMasks(sum, streams, offset, platformExpandMask)
      return sum
    },
    close: () => files.close(),
  }
}

/** A tensor's elements in parts; scattered or compressed elements are read whole, once. */
const chunksOf = (source: OpenFile, tensor: Tensor) => {
  const { dtype, byteOffset } = tensor
  if (isDirect(tensor)) {
    return (start: number, length: number) =>
      decodeElements(source.read(byteOffset + start * BYTES_OF[dtype], length * BYTES_OF[dtype]), dtype)
  }
  const values = readTensorFloats(source, tensor)
  return (start: number, length: number) => values.subarray(start, start + length)
}
