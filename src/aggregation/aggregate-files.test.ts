import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aggregateFiles } from './aggregate-files.ts'
import type { AggregationJob } from './aggregation-messages.ts'
import { decode, encode } from './kernel-oracle.fixture.ts'
import { FIXTURES, jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const aggregate = (updates: AggregationJob['updates'], globalPath: string | null = null) =>
  aggregateFiles(jobOf({ globalPath, updates, outputPath: files.path('out') }))

const net = (client: string, extension: string): string => `${FIXTURES}weights/net_${client}.${extension}`

const clients = (extensions: readonly [string, string, string], samples: readonly [number, number, number]) =>
  ['a', 'b', 'c'].map((id, k) => ({ id, path: net(id, extensions[k]!), numSamples: samples[k]! }))

const expectedNet = JSON.parse(readFileSync(`${FIXTURES}weights/net_expected.json`, 'utf8')) as {
  num_samples: [number, number, number]
  weighted_mean: Record<string, unknown>
}

/** The largest difference relative to the expected value over all tensors. Both sides must have the same tensors. */
const worstError = (actual: Record<string, (number | bigint)[]>, expected: Record<string, unknown>): number => {
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort())
  let worst = 0
  for (const [name, values] of Object.entries(expected)) {
    const flat = [values].flat(Number.POSITIVE_INFINITY) as number[]
    expect(actual[name]).toHaveLength(flat.length)
    flat.forEach((value, i) => {
      const error = Math.abs(Number(actual[name]![i]) - value)
      worst = Math.max(worst, value === 0 ? error : error / Math.abs(value))
    })
  }
  return worst
}

/** The mean of the fixture's models, computed one element at a time. */
const meanNet = (samples: readonly number[]): Record<string, number[]> => {
  const models = ['a', 'b', 'c'].map((id) => valuesIn(net(id, 'safetensors')))
  const total = samples.reduce((sum, n) => sum + n, 0)
  return Object.fromEntries(
    Object.entries(models[0]!).map(([name, values]) => [
      name,
      values.map((_, i) => samples.reduce((sum, n, k) => sum + n * Number(models[k]![name]![i]), 0) / total),
    ]),
  )
}

describe('federated averaging of the fixture network', () => {
  it.each([
    ['pt', ['pt', 'pt', 'pt'], 'torch-zip'],
    ['npz', ['npz', 'npz', 'npz'], 'npz'],
    ['safetensors', ['safetensors', 'safetensors', 'safetensors'], 'safetensors'],
    ['mixed containers, in that of the first device', ['npz', 'pt', 'safetensors'], 'npz'],
  ] as const)('matches the weighted mean computed by PyTorch within 1e-6, from %s', async (_, extensions, format) => {
    const result = await aggregate(clients(extensions, expectedNet.num_samples))
    expect(result).toEqual({
      format,
      tensors: 9,
      elements: 108,
      weights: [
        { id: 'a', weight: 0.1 },
        { id: 'b', weight: 0.2 },
        { id: 'c', weight: 0.7 },
      ],
      state: { written: false },
      control: { written: false },
      privacy: null,
    })
    expect(worstError(valuesIn(files.path('out')), expectedNet.weighted_mean)).toBeLessThan(1e-6)
  })

  it('is the plain mean for equal sample counts, with the batch counter rounded to an integer', async () => {
    await aggregate(clients(['pt', 'npz', 'safetensors'], [5, 5, 5]))
    const { 'bn.num_batches_tracked': counter, ...expected } = meanNet([5, 5, 5])
    const { 'bn.num_batches_tracked': actualCounter, ...actual } = valuesIn(files.path('out'))
    expect(worstError(actual, expected)).toBeLessThan(1e-6)
    expect(actualCounter).toEqual([BigInt(Math.round(counter![0]!))])
  })

  it('keeps the batch counter a 64-bit integer', async () => {
    await aggregate(clients(['pt', 'pt', 'pt'], expectedNet.num_samples))
    expect(valuesIn(files.path('out'))['bn.num_batches_tracked']).toEqual([13n])
  })

  it('produces the same bytes for any order of arrival', async () => {
    const [a, b, c] = clients(['pt', 'safetensors', 'npz'], expectedNet.num_samples)
    const outputs: Buffer[] = []
    for (const order of [
      [a!, b!, c!],
      [c!, a!, b!],
      [b!, c!, a!],
      [c!, b!, a!],
    ]) {
      await aggregate(order)
      outputs.push(readFileSync(files.path('out')))
    }
    expect(outputs.every((bytes) => bytes.equals(outputs[0]!))).toBe(true)
  })

  it('uses the container of the distributed model, not that of the updates', async () => {
    const result = await aggregate(clients(['pt', 'npz', 'pt'], expectedNet.num_samples), net('b', 'safetensors'))
    expect(result.format).toBe('safetensors')
    expect(worstError(valuesIn(files.path('out')), expectedNet.weighted_mean)).toBeLessThan(1e-6)
  })

  it('leaves only the output behind', async () => {
    await aggregate(clients(['pt', 'npz', 'pt'], [1, 1, 1]))
    expect(readdirSync(files.folder)).toEqual(['out'])
  })
})

describe('federated averaging', () => {
  it('matches the closed form for five clients', async () => {
    const sample = JSON.parse(readFileSync(`${FIXTURES}strategies.json`, 'utf8')) as {
      client_weights: number[][]
      num_samples: number[]
      fedavg: number[]
    }
    const updates = sample.client_weights.map((values, k) => ({
      id: `client-${k + 1}`,
      path: files.safetensors(`${k}`, [tensor('w', 'f64', values)]),
      numSamples: sample.num_samples[k]!,
    }))
    await aggregate(updates)
    const { w } = valuesIn(files.path('out'))
    sample.fedavg.forEach((value, i) => void expect(Math.abs(Number(w![i]) - value)).toBeLessThan(1e-9))
  })

  it('accumulates half types in 64 bits and rounds once, to the original type', async () => {
    // In 16 bits, 2048 + 1 is already 2048; the true mean of 1 x 2048 and 2047 x 1 is 2.
    const updates = [
      { id: 'a', numSamples: 1, value: 2048 },
      { id: 'b', numSamples: 2047, value: 1 },
    ].map(({ id, numSamples, value }) => ({
      id,
      numSamples,
      path: files.safetensors(id, [tensor('half', 'f16', [value, 6e-8, 0.1]), tensor('brain', 'bf16', [value, 1, 3])]),
    }))
    await aggregate(updates)
    const mean = (2048 + 2047) / 2048
    expect(valuesIn(files.path('out'))).toEqual({
      half: decode('f16', encode('f16', [mean, 6e-8, 0.1])),
      brain: decode('bf16', encode('bf16', [mean, 1, 3])),
    })
  })

  it('rounds the means of every integer type to nearest, ties to even, exactly even beyond 2^53', async () => {
    const big = 2n ** 62n
    const path = (id: string, values: readonly [number, number, bigint, bigint]) =>
      files.safetensors(id, [
        tensor('i8', 'i8', [values[0], -3]),
        tensor('u32', 'u32', [values[1], 4_294_967_295]),
        tensor('i64', 'i64', [values[2], -big]),
        tensor('u64', 'u64', [values[3], 2n ** 64n - 1n]),
        tensor('bool', 'bool', [values[0] > 0 ? 1 : 0, 1]),
      ])
    await aggregate([
      { id: 'a', numSamples: 1, path: path('a', [1, 1, big, 0n]) },
      { id: 'b', numSamples: 1, path: path('b', [2, 4, big + 3n, 2n ** 64n - 1n]) },
    ])
    expect(valuesIn(files.path('out'))).toEqual({
      i8: [2, -3],
      u32: [2, 4_294_967_295],
      i64: [big + 2n, -big],
      u64: [2n ** 63n, 2n ** 64n - 1n],
      bool: [1, 1],
    })
  })

  it('averages tensors of several chunks', async () => {
    const count = 70_001
    const values = (k: number) => Array.from({ length: count }, (_, i) => Math.fround(Math.sin(i * (k + 1))))
    const updates = [0, 1, 2].map((k) => ({
      id: `${k}`,
      numSamples: k + 1,
      path: files.safetensors(`${k}`, [tensor('w', 'f32', values(k), [count])]),
    }))
    await aggregate(updates)
    const [a, b, c] = [values(0), values(1), values(2)]
    expect(valuesIn(files.path('out'))).toEqual({
      w: a!.map((_, i) => Math.fround((a![i]! + 2 * b![i]! + 3 * c![i]!) / 6)),
    })
  })

  it('averages more updates than it keeps open', async () => {
    const updates = Array.from({ length: 200 }, (_, k) => ({
      id: String(k).padStart(3, '0'),
      numSamples: k + 1,
      path: files.safetensors(`u${k}`, [tensor('w', 'f32', [k, 1, -k])]),
    }))
    const { weights } = await aggregate(updates)
    const mean = (200 * 199 * 201) / 3 / ((200 * 201) / 2)
    expect(valuesIn(files.path('out'))).toEqual({ w: [mean, 1, -mean].map(Math.fround) })
    expect(weights[199]).toEqual({ id: '199', weight: 200 / 20_100 })
  })

  it('averages raw vectors of equal length', async () => {
    const updates = [
      { id: 'a', path: files.raw('a', [1, 2, 3]), rawVector: true, numSamples: 3 },
      { id: 'b', path: files.raw('b', [5, 2, -1]), rawVector: true, numSamples: 1 },
    ]
    expect(await aggregate(updates)).toMatchObject({ format: 'raw', tensors: 1, elements: 3 })
    expect(readFileSync(files.path('out'))).toEqual(Buffer.from(encode('f32', [2, 2, 2])))
  })

  it('gives a device without samples zero weight', async () => {
    const updates = [
      { id: 'a', path: files.raw('a', [1]), rawVector: true, numSamples: 0 },
      { id: 'b', path: files.raw('b', [5]), rawVector: true, numSamples: 7 },
    ]
    expect((await aggregate(updates)).weights).toEqual([
      { id: 'a', weight: 0 },
      { id: 'b', weight: 1 },
    ])
    expect(valuesIn(files.path('out'))).toEqual({ vector: [5] })
  })
})

describe('what cannot be combined', () => {
  const refusal = (message: string) => ({ code: 'conflict', message })

  it('is refused, naming the device whose vector has another length', async () => {
    const updates = [
      { id: 'a', path: files.raw('a', [1, 2]), rawVector: true, numSamples: 1 },
      { id: 'pixel-7', path: files.raw('b', [1, 2, 3]), rawVector: true, numSamples: 1 },
    ]
    await expect(aggregate(updates)).rejects.toMatchObject(
      refusal(
        "The update of device 'pixel-7' cannot be combined with the others. The update does not match the first " +
          'update of the round, which is of device \'a\': tensor "vector" has shape [3], expected [2]. Send weights of the ' +
          'same model.',
      ),
    )
    expect(existsSync(files.path('out'))).toBe(false)
  })

  it('is refused, naming the device, tensor, and element that is not finite', async () => {
    const updates = ['a', 'b'].map((id) => ({
      id,
      path: files.safetensors(id, [tensor('x', 'f32', [1]), tensor('y', 'f16', [1, 2, id === 'b' ? Number.NaN : 3])]),
      numSamples: 1,
    }))
    await expect(aggregate(updates)).rejects.toMatchObject(
      refusal(
        'The update of device \'b\' contains NaN or infinity in tensor "y" at element 2. ' +
          'Nothing was aggregated; its training diverged.',
      ),
    )
    expect(readdirSync(files.folder)).toEqual(['a', 'b'])
  })

  it('is refused if finite values exceed the range of 64-bit floats', async () => {
    const updates = ['a', 'b'].map((id) => ({
      id,
      path: files.safetensors(id, [tensor('x', 'f64', id === 'b' ? [1, -1e308] : [1, 2])]),
      numSamples: 1000,
    }))
    await expect(aggregate(updates)).rejects.toMatchObject(
      refusal(
        'The weighted sum of tensor "x" exceeds the range of 64-bit floats. Nothing was aggregated. The largest value ' +
          "is element 1 of the update of device 'b'; its training diverged.",
      ),
    )
  })

  it('is refused, naming the device whose file is damaged', async () => {
    const good = { id: 'a', path: net('a', 'pt'), numSamples: 1 }
    const truncated = { id: 'b', path: `${FIXTURES}weights/net_truncated.pt`, numSamples: 1 }
    await expect(aggregate([truncated, good])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The update of device 'b' cannot be combined with the others\. The zip archive/),
    })
  })

  it('is refused if the total weight is zero', async () => {
    const path = files.raw('a', [1])
    await expect(aggregate([])).rejects.toMatchObject(refusal('There are no updates to aggregate.'))
    await expect(aggregate([{ id: 'a', path, numSamples: 0 }])).rejects.toMatchObject(
      refusal('All updates report 0 samples, so they cannot be weighted. Send num_samples.'),
    )
    await expect(aggregate([{ id: 'a', path, numSamples: 1.5 }])).rejects.toMatchObject(
      refusal("The update of device 'a' reports 1.5 samples; it must be a whole number of at least 0."),
    )
    const twice = [1, 2].map((numSamples) => ({ id: 'a', path, numSamples }))
    await expect(aggregate(twice)).rejects.toMatchObject(refusal("Device 'a' has two updates in one aggregation."))
  })
})

it('halves sample counts until their sum is exact, without reducing a positive count to zero', async () => {
  const most = Number.MAX_SAFE_INTEGER
  const { weights } = await aggregate(clients(['npz', 'npz', 'npz'], [most, 1, most]))
  expect(weights.map(({ weight }) => weight)).toEqual([
    expect.closeTo(0.5, 12),
    expect.toSatisfy((weight: number) => weight > 0 && weight < 1e-15),
    expect.closeTo(0.5, 12),
  ])
})
