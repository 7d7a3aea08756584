import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { strategySettings } from '../domain/strategy-settings.ts'
import { BYTES_OF, type DType } from '../tensors/weight-file.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { trimmedPerEnd } from './fedtrimmedavg.ts'
import { createKernel, padded } from './kernel.ts'
import { decode, encode, randomNumbers, randomRow, rankMeanOf } from './kernel-oracle.fixture.ts'
import { rankMean } from './rank-mean.ts'
import { rankNetwork } from './sorting-network.ts'
import type { Chunk } from './strategy.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

const DTYPES = Object.keys(BYTES_OF) as DType[]

const meanByKernel = (dtype: DType, rows: readonly Uint8Array[], from: number, to: number): Uint8Array => {
  const kernel = createKernel()
  const { columns, combine } = rankMean(kernel, rows.length, from, to)
  const length = rows[0]!.length / BYTES_OF[dtype]
  expect(length).toBeLessThanOrEqual(columns)
  const chunk = {
    tensor: 'w',
    dtype,
    start: 0,
    length,
    rows: rows.length,
    load: (k: number, address: number) => {
      kernel.bytes(address, padded(length) * BYTES_OF[dtype]).fill(0)
      kernel.bytes(address, rows[k]!.length).set(rows[k]!)
    },
    nameOf: (k: number) => `update of device '${k}'`,
  } as Chunk
  return kernel.bytes(combine(chunk), length * BYTES_OF[dtype]).slice()
}

/** Rows with ties, zeros of both signs, subnormals, and random bit patterns in the same column. */
const awkwardRows = (dtype: DType, count: number, length: number, seed: number): Uint8Array[] => {
  const next = randomNumbers(seed)
  const special = dtype.startsWith('u') || dtype === 'bool' ? [0, 1] : [0, -0, 1, -1, 5e-324, -1e-45, 6e-8, 1e-40]
  return Array.from({ length: count }, (_, k) => {
    const random = decode(dtype, randomRow(dtype, length, seed * 31 + k * 7919 + 1, true))
    return encode(
      dtype,
      random.map((value) => {
        if (next() < 0.5) return value
        const chosen = special[Math.floor(next() * special.length)]!
        if (typeof value === 'bigint') return BigInt(Math.trunc(chosen))
        return dtype.startsWith('f') || dtype === 'bf16' ? chosen : Math.trunc(chosen) + 0
      }),
    )
  })
}

describe('the mean of middle ranks', () => {
  it.each(DTYPES)("equals the oracle's for random %s rows, bit for bit, for medians and trimmed means", (dtype) => {
    for (const [count, length] of [
      [1, 3],
      [3, 1],
      [8, 17],
      [20, 33],
      [29, 67],
    ] as const) {
      const rows = awkwardRows(dtype, count, length, count + length)
      for (const [from, to] of [
        [Math.floor((count - 1) / 2), Math.floor(count / 2) + 1],
        [Math.floor(count / 5), count - Math.floor(count / 5)],
        [0, count],
      ] as const)
        expect(meanByKernel(dtype, rows, from, to)).toEqual(rankMeanOf(dtype, rows, from, to))
    }
  })

  it('is the median for every number of updates from 1 to 60', () => {
    for (let count = 1; count <= 60; count++) {
      const rows = awkwardRows('f32', count, 13, count)
      const [from, to] = [Math.floor((count - 1) / 2), Math.floor(count / 2) + 1]
      expect(meanByKernel('f32', rows, from, to)).toEqual(rankMeanOf('f32', rows, from, to))
    }
  })

  it('is exact for 64-bit integers that no float can represent', () => {
    const big = 2n ** 62n
    const rows = [big + 1n, big + 5n, -big, big + 2n].map((value) => encode('i64', [value]))
    expect(decode('i64', meanByKernel('i64', rows, 1, 3))).toEqual([big + 2n])
    expect(decode('i64', meanByKernel('i64', rows.slice(0, 3), 1, 2))).toEqual([big + 1n])
  })

  it('fits a column block of thousands of rows in its memory', () => {
    const rows = Array.from({ length: 3000 }, (_, k) => encode('f32', [(k * 1009) % 3000, k]))
    expect(decode('f32', meanByKernel('f32', rows, 1499, 1501))).toEqual([1499.5, 1499.5])
  })

  it('does not mistake values for infinite because their sum is', () => {
    const rows = [3e38, 3e38, 3e38, 3e38].map((value) => encode('f32', [value]))
    expect(decode('f32', meanByKernel('f32', rows, 1, 3))).toEqual([Math.fround(3e38)])
    const doubles = [1.5e308, 1.5e308, 1].map((value) => encode('f64', [value]))
    expect(decode('f64', meanByKernel('f64', doubles, 1, 2))).toEqual([1.5e308])
  })

  it.each([4, 40])('refuses a non-finite value at any position among %i rows and names its row', (count) => {
    for (const [bad, value] of [Number.NaN, Infinity, -Infinity].entries()) {
      const rows = Array.from({ length: count }, (_, k) => encode('f32', [1, 2, k === bad ? value : 3, 4, 5]))
      expect(() => meanByKernel('f32', rows, 1, 3)).toThrow(
        `The update of device '${bad}' contains NaN or infinity in tensor "w" at element 2.`,
      )
    }
  })
})

describe('a sorting network reduced to the required ranks', () => {
  it('puts those ranks on their wires for all inputs of zeros and ones', () => {
    // The 0-1 principle (Knuth 5.3.4): a network that sorts all of these sorts everything.
    for (const wires of [1, 2, 3, 6, 9, 12]) {
      for (const from of [0, Math.floor((wires - 1) / 2)]) {
        const to = Math.floor(wires / 2) + 1
        const network = rankNetwork(wires, from, to)
        for (let input = 0; input < 2 ** wires; input++) {
          const values = Array.from({ length: wires }, (_, k) => (input >> k) & 1)
          const sorted = [...values].sort((a, b) => a - b)
          for (const { low, high } of network)
            if (values[low]! > values[high]!) [values[low], values[high]] = [values[high]!, values[low]!]
          expect(values.slice(from, to)).toEqual(sorted.slice(from, to))
        }
      }
    }
  })
})

describe('median and trimmed mean of files', () => {
  let files: ReturnType<typeof temporaryFolder>
  beforeEach(() => {
    files = temporaryFolder()
  })
  afterEach(() => files.remove())

  const run = (name: string, options: Record<string, number>, write: (k: number) => string, count: number) =>
    aggregateFiles(
      jobOf({
        strategy: strategySettings(name, options),
        updates: Array.from({ length: count }, (_, k) => ({
          id: `d${k}`,
          path: write(k),
          rawVector: true,
          numSamples: k * 100,
        })),
        outputPath: files.path('out'),
      }),
    )

  it('read any container, span several chunks, and give every device equal weight', async () => {
    const count = 40_001
    const write = (k: number): string => {
      const values = Array.from({ length: count }, (_, i) => ((i * 7 + k * 13) % 101) - 50)
      const tensors = [tensor('w', 'f32', values, [count]), tensor('steps', 'i64', [k * 3])]
      return [files.torch, files.npz, files.safetensors][k % 3]!(`u${k}`, tensors)
    }
    const { weights, format } = await run('fedmedian', {}, write, 5)
    expect({ format, weights: weights.map(({ weight }) => weight) }).toEqual({
      format: 'torch-zip',
      weights: [0.2, 0.2, 0.2, 0.2, 0.2],
    })
    const { w, steps } = valuesIn(files.path('out'))
    const median = (i: number): number =>
      [0, 1, 2, 3, 4].map((k) => ((i * 7 + k * 13) % 101) - 50).sort((a, b) => a - b)[2]!
    expect(w).toEqual(Array.from({ length: count }, (_, i) => median(i)))
    expect(steps).toEqual([6n])
  })

  it('drop floor(trim * n) values at either end, computed in decimal', async () => {
    expect([trimmedPerEnd(0.29, 100), trimmedPerEnd(0.2, 5), trimmedPerEnd(0.49999, 2), trimmedPerEnd(0, 9)]).toEqual([
      29, 1, 0, 0,
    ])
    const write = (k: number): string => files.raw(`u${k}`, [[1, 2, 3, 4, 1000][k]!, -k])
    await run('fedtrimmedavg', { trim: 0.2 }, write, 5)
    expect(valuesIn(files.path('out'))).toEqual({ vector: [3, -2] })
  })
})
