import { ftruncateSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { FilePool, type OpenFile, openFile } from '../../../aggregation/files.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import { summedTensors } from '../../../secure-aggregation/coordinates.ts'
import { decodeMeans, readTotals, type SumTotals, TRAILER } from '../../../secure-aggregation/fixed-point.ts'
import { addMasks, addWords, type MaskStream } from '../../../secure-aggregation/mask.ts'
import { requireNames } from '../../../secure-aggregation/messages.ts'
import { platformExpandMask } from '../../../secure-aggregation/platform-mask.ts'
import { unmaskingStreams } from '../../../secure-aggregation/unmask.ts'
import { writePieces } from '../../../tensors/container-plan.ts'
import { decodeElements, encodeElements, readTensorBytes, readTensorFloats } from '../../../tensors/elements.ts'
import { layoutOf } from '../../../tensors/layout.ts'
import { writeTensorBytes } from '../../../tensors/patch.ts'
import { readWeights } from '../../../tensors/read-weights.ts'
import { BYTES_OF, elementCount, isDirect, type Tensor } from '../../../tensors/weight-file.ts'
import { planSafetensors } from '../../../tensors/write-safetensors.ts'
import type { SecureRoundsStore } from './secure-rounds.store.ts'

/** 64 KB: with a hundred masks some milliseconds of work, after which requests get their turn. */
const CHUNK_WORDS = 16 * 1024

export interface MaskedFile {
  /** The device's internal id. */
  readonly deviceId: string
  readonly path: string
}

/** Turns the masked updates of a round into the one update that is their mean: all that the service ever learns. */
export const createSecureSums = (parts: { readonly database: Database; readonly store: SecureRoundsStore }) => {
  const { database, store } = parts

  const streamsOf = async (roundId: string, delivered: readonly MaskedFile[]) => {
    const round = await store.find(database.sql, roundId)
    if (round?.status !== 'done') throw conflict('The sum of this round has not been unmasked.')
    const devices = delivered.map(({ deviceId }) => deviceId)
    requireNames(round.delivered, devices, 'The list of masked updates')
    const [keys, shares, answers] = [
      await store.messages(database.sql, roundId, 'keys'),
      await store.messages(database.sql, roundId, 'shares'),
      await store.messages(database.sql, roundId, 'unmask'),
    ]
    return { round, streams: await unmaskingStreams(round, { keys, shares, answers }) }
  }

  return {
    /**
     * Writes a .safetensors file with the global model plus the mean change of all that delivered; returns what they
     * weigh, and their mean loss and accuracy. The same messages give the same bytes. Memory: one chunk, and one tensor
     * where the global model's are not laid out plainly. Throws conflict when a share turns out to be wrong.
     */
    async uncover(
      roundId: string,
      delivered: readonly MaskedFile[],
      globalPath: string,
      outputPath: string,
      rawVector: boolean,
    ): Promise<SumTotals> {
      const { round, streams } = await streamsOf(roundId, delivered)
      const sums = sumOf(delivered, streams)
      const global = openFile(globalPath, 'r')
      const output = openFile(outputPath, 'w+')
      try {
        const totals = readTotals(sums.read(round.words - TRAILER, TRAILER), round.settings)
        const file = readWeights(global, { rawVector })
        const plan = planSafetensors(layoutOf(file))
        ftruncateSync(output.fd, plan.size)
        writePieces(output, plan)
        const places = new Map(plan.file.tensors.map((tensor) => [tensor.name, tensor]))
        const summed = summedTensors(file.tensors)
        for (const tensor of file.tensors.filter((one) => !summed.includes(one))) {
          writeTensorBytes(output, places.get(tensor.name)!, readTensorBytes(global, tensor))
        }
        let at = 0
        for (const tensor of summed) {
          const place = places.get(tensor.name)!
          const valuesAt = chunksOf(global, tensor)
          const count = elementCount(tensor.shape)
          for (let start = 0; start < count; start += CHUNK_WORDS) {
            const length = Math.min(CHUNK_WORDS, count - start)
            const means = new Float64Array(length)
            decodeMeans(sums.read(at + start, length), totals, round.settings, means)
            const values = valuesAt(start, length)
            for (let i = 0; i < length; i++) means[i] = means[i]! + values[i]!
            output.write(place.byteOffset + start * BYTES_OF[tensor.dtype], encodeElements(means, tensor.dtype))
            await setImmediate()
          }
          at += count
        }
        return totals
      } finally {
        sums.close()
        global.close()
        output.close()
      }
    },
  }
}

/** Any part of the sum of masked files, without their masks. */
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

/** A tensor's elements by parts; those that lie scattered or compressed are read whole, once. */
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
