import { ftruncateSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { FilePool, type OpenFile, openFile } from '../../../aggregation/files.ts'
import { StateFile } from '../../../aggregation/state-file.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import { summedTensors } from '../../../secure-aggregation/coordinates.ts'
import { decodeMeans, readTotals, type SumTotals, TRAILER } from '../../../secure-aggregation/fixed-point.ts'
import { addMasks, addWords, type MaskStream } from '../../../secure-aggregation/mask.ts'
import { requireNames } from '../../../secure-aggregation/messages.ts'
import { platformExpandMask } from '../../../secure-aggregation/platform-mask.ts'
import type { SecureSettings } from '../../../secure-aggregation/settings.ts'
import { unmaskingStreams } from '../../../secure-aggregation/unmask.ts'
import { writePieces } from '../../../tensors/container-plan.ts'
import { decodeElements, encodeElements, readTensorBytes, readTensorFloats } from '../../../tensors/elements.ts'
import type { WeightFile } from '../../../tensors/formats.ts'
import { layoutOf } from '../../../tensors/layout.ts'
import { writeTensorBytes } from '../../../tensors/patch.ts'
import { readWeights } from '../../../tensors/read-weights.ts'
import { BYTES_OF, elementCount, isDirect, type Tensor } from '../../../tensors/weight-file.ts'
import { planSafetensors } from '../../../tensors/write-safetensors.ts'
import type { SecureRoundsStore } from './secure-rounds.store.ts'

/** 64 KB: with a hundred masks, a chunk takes some milliseconds; requests get their turn between chunks. */
const CHUNK_WORDS = 16 * 1024

export interface MaskedFile {
  /** The device's internal id. */
  readonly deviceId: string
  readonly path: string
}

interface GlobalModel {
  readonly path: string
  readonly rawVector: boolean
}

/** The mean change of a tensor's elements from `start` on. */
interface PartOfMean {
  readonly tensor: Tensor
  readonly start: number
  readonly means: Float64Array<ArrayBuffer>
}

/** Turns the masked updates of a round into one update, their mean, which is all that the service ever learns. */
export const createSecureSums = (parts: { readonly database: Database; readonly store: SecureRoundsStore }) => {
  const { database, store } = parts

  const streamsOf = async (roundId: string, delivered: readonly MaskedFile[]) => {
    const round = await store.find(database.sql, roundId)
    if (round?.status !== 'done') throw conflict('The sum of this round has not been unmasked.')
    const devices = delivered.map(({ deviceId }) => deviceId)
    requireNames(round.delivered, devices, 'The list of masked updates')
    const [keys, shares, responses] = [
      await store.messages(database.sql, roundId, 'keys'),
      await store.messages(database.sql, roundId, 'shares'),
      await store.messages(database.sql, roundId, 'unmask'),
    ]
    return { round, streams: await unmaskingStreams(round, { keys, shares, responses }) }
  }

  /** Runs `write` with the opened global model and the mean change in parts; returns the totals of the sum. */
  const withMeans = async (
    roundId: string,
    delivered: readonly MaskedFile[],
    global: GlobalModel,
    write: (source: OpenFile, file: WeightFile, parts: AsyncIterable<PartOfMean>) => Promise<void>,
  ): Promise<SumTotals> => {
    const { round, streams } = await streamsOf(roundId, delivered)
    const sums = sumOf(delivered, streams)
    const source = openFile(global.path, 'r')
    try {
      const totals = readTotals(sums.read(round.words - TRAILER, TRAILER), round.settings)
      const file = readWeights(source, { rawVector: global.rawVector })
      await write(source, file, partsOf(sums, file, totals, round.settings))
      return totals
    } finally {
      sums.close()
      source.close()
    }
  }

  return {
    /**
     * Writes a .safetensors file with the global model plus the mean change of all delivered updates. Returns their total
     * weight, and their mean loss and accuracy. The same messages give the same bytes. Memory: one chunk, plus one tensor if
     * the global model's tensors are not stored contiguously. @throws conflict if a share turns out to be wrong
     */
    uncover: (
      roundId: string,
      delivered: readonly MaskedFile[],
      global: GlobalModel,
      outputPath: string,
    ): Promise<SumTotals> =>
      withMeans(roundId, delivered, global, async (source, file, parts) => {
        const output = openFile(outputPath, 'w+')
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
          for await (const { tensor, start, means } of parts) {
            if (start === 0 || valuesAt === undefined) valuesAt = chunksOf(source, tensor)
            const before = valuesAt(start, means.length)
            for (let i = 0; i < means.length; i++) means[i] = means[i]! + before[i]!
            const offset = places.get(tensor.name)!.byteOffset + start * BYTES_OF[tensor.dtype]
            output.write(offset, encodeElements(means, tensor.dtype))
          }
        } finally {
          output.close()
        }
      }),

    /** The same for strategies that use the mean change: writes only that, unrounded, as a `StateFile` with one vector. */
    uncoverChange: (
      roundId: string,
      delivered: readonly MaskedFile[],
      global: GlobalModel,
      outputPath: string,
    ): Promise<SumTotals> =>
      withMeans(roundId, delivered, global, async (_, file, parts) => {
        const output = new StateFile(file, [0], { before: null, after: outputPath })
        try {
          for await (const { tensor, start, means } of parts) {
            output.save(0, file.tensors.indexOf(tensor), start, new Uint8Array(means.buffer))
          }
        } finally {
          output.close()
        }
      }),
  }
}

/** The mean change of all summed tensors, in the protocol's order. Requests get their turn between two parts. */
async function* partsOf(
  sums: ReturnType<typeof sumOf>,
  file: WeightFile,
  totals: SumTotals,
  settings: SecureSettings,
): AsyncGenerator<PartOfMean> {
  let at = 0
  for (const tensor of summedTensors(file.tensors)) {
    const count = elementCount(tensor.shape)
    for (let start = 0; start < count; start += CHUNK_WORDS) {
      const means = new Float64Array(Math.min(CHUNK_WORDS, count - start))
      decodeMeans(sums.read(at + start, means.length), totals, settings, means)
      yield { tensor, start, means }
      await setImmediate()
    }
    at += count
  }
}

/** Reads any part of the sum of masked files and removes the masks. */
const sumOf = (delivered: readonly MaskedFile[], streams: readonly MaskStream[]) => {
  const files = new FilePool(delivered.map(({ path }) => path))
  return {
    read(offset: number, length: number): Uint32Array {
      const sum = new Uint32Array(length)
      const words = new Uint32Array(length)
      for (let index = 0; index < delivered.length; index++) {
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

export type SecureSums = ReturnType<typeof createSecureSums>
