import { describe, expect, test } from 'vitest'
import { coarsenessWarning, decodeMeans, encodeContribution, readTotals, resolution, TRAILER } from './fixed-point.ts'
import { addWords } from './mask.ts'
import { secureSettings } from './settings.ts'

const sumOf = (vectors: readonly Uint32Array[]) => {
  const sum = new Uint32Array(vectors[0]!.length)
  for (const words of vectors) addWords(sum, words)
  return sum
}
const decoded = (sum: Uint32Array, settings: ReturnType<typeof secureSettings>) => {
  const totals = readTotals(sum.subarray(-TRAILER), settings)
  const means = new Float64Array(sum.length - TRAILER)
  decodeMeans(sum.subarray(0, -TRAILER), totals, settings, means)
  return { totals, means: [...means] }
}

describe('fixed point', () => {
  test('never wraps: the maximum number of devices at the maximum weight is exact at either end of the range', () => {
    for (const devices of [2, 3, 20, 127, 255]) {
      for (const [range, maxWeight] of [
        [8, 1],
        [1, 1],
        [0.001, 1000],
        [8, 1_000_000],
        [2 ** 20, 1],
        [7.3, 17],
      ] as const) {
        const settings = secureSettings({ devices, range, maxWeight })
        const contribution = { delta: [range, -range, 1e9, -1e9, 0], numSamples: maxWeight }
        const { words, clipped } = encodeContribution(contribution, settings)
        const { totals, means } = decoded(sumOf(new Array(devices).fill(words)), settings)
        const half = resolution(settings) / 2 / maxWeight
        expect(clipped).toBe(2)
        expect(totals.weight).toBe(devices * maxWeight)
        for (const [i, value] of [range, -range, range, -range, 0].entries()) {
          expect(Math.abs(means[i]! - value)).toBeLessThanOrEqual(half)
        }
      }
    }
  })

  test('20 devices have steps of 2^-23 in the default range', () => {
    expect(resolution(secureSettings({ devices: 20 }))).toBe(2 ** -23)
    expect(resolution(secureSettings({ devices: 20, range: 1 }))).toBe(2 ** -26)
    expect(resolution(secureSettings({ devices: 255, maxWeight: 1000 }))).toBe(2 ** -10)
  })

  test('the mean is within half a step of the mean of the real numbers', () => {
    const settings = secureSettings({ devices: 3 })
    const deltas = [
      [0.1, -1 / 3, 1e-7],
      [0.2, 2 / 3, -1e-7],
      [0.7, -5, 3e-8],
    ]
    const { means } = decoded(
      sumOf(deltas.map((delta) => encodeContribution({ delta, numSamples: 5 }, settings).words)),
      settings,
    )
    for (const [i, mean] of means.entries()) {
      const exact = (deltas[0]![i]! + deltas[1]![i]! + deltas[2]![i]!) / 3
      expect(Math.abs(mean - exact)).toBeLessThanOrEqual(resolution(settings) / 2)
    }
  })

  test('samples count up to the maximum weight; losses and accuracies are averaged over the devices that report them', () => {
    const settings = secureSettings({ devices: 3, maxWeight: 10 })
    const sum = sumOf([
      encodeContribution({ delta: [1], numSamples: 1, loss: 0.5, accuracy: 1 }, settings).words,
      encodeContribution({ delta: [4], numSamples: 5, loss: 2 }, settings).words,
      encodeContribution({ delta: [-2], numSamples: 5000, loss: Number.NaN }, settings).words,
    ])
    expect(decoded(sum, settings)).toEqual({
      totals: { weight: 16, loss: (0.5 + 5 * 2) / 6, accuracy: 1 },
      means: [(1 + 20 - 20) / 16],
    })
  })

  test('halves are rounded up, and negative zero becomes zero', () => {
    const settings = secureSettings({ devices: 2, range: 1 })
    const step = resolution(settings)
    const { words } = encodeContribution({ delta: [step / 2, -step / 2, -0, -step], numSamples: 1 }, settings)
    expect([...words.subarray(0, 4)]).toEqual([1, 0, 0, 2 ** 32 - 1])
  })

  test('refuses non-finite coordinates, naming their index, and an update with no samples', () => {
    const settings = secureSettings({ devices: 2 })
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(() => encodeContribution({ delta: [0, value], numSamples: 1 }, settings)).toThrow(
        `Coordinate 1 of the update is ${value}. Training diverged; lower the learning rate.`,
      )
    }
    expect(() => encodeContribution({ delta: [0], numSamples: 0 }, settings)).toThrow('num_samples is 0')
  })

  test('refuses a sum with an impossible weight', () => {
    const settings = secureSettings({ devices: 2, maxWeight: 3 })
    const devices = ', which 2 devices cannot have'
    const more = 'than its total weight of 4'
    for (const [trailer, fault] of [
      [[0, 0, 0, 0, 0], `a total weight of 0${devices}`],
      [[7, 0, 0, 0, 0], `a total weight of 7${devices}`],
      [[4, 5, 0, 0, 0], `a weight of 5 for the loss, more ${more}`],
      [[4, 0, 0, 5, 0], `a weight of 5 for the accuracy, more ${more}`],
      [[4, 0, 0, 0], `a total weight of 4${devices}`],
    ] as const) {
      expect(() => readTotals(Uint32Array.from(trailer), settings)).toThrow(
        `The unmasked sum has ${fault}: an input was not masked as the protocol says.`,
      )
    }
  })
})

describe('secureSettings', () => {
  test('defaults to a threshold of two thirds of the devices', () => {
    const thresholds = [2, 3, 4, 5, 6, 20, 255].map((devices) => secureSettings({ devices }).threshold)
    expect(thresholds).toEqual([2, 2, 3, 4, 4, 14, 170])
    expect(secureSettings({ devices: 20, threshold: 11 })).toEqual({
      devices: 20,
      threshold: 11,
      range: 8,
      maxWeight: 1,
    })
  })

  test.each([
    [{ devices: 1 }, 'a round of 1 device cannot be secure'],
    [{ devices: 256 }, 'Select between 2 and 255'],
    [
      { devices: 20, threshold: 10 },
      'secure_aggregation.threshold is 10; with 20 devices it must be a whole number from 11',
    ],
    [{ devices: 20, threshold: 21 }, 'secure_aggregation.threshold is 21'],
    [{ devices: 5, threshold: 3.5 }, 'secure_aggregation.threshold is 3.5'],
    [{ devices: 5, range: 0 }, 'secure_aggregation.range is 0'],
    [{ devices: 5, range: Number.NaN }, 'secure_aggregation.range is NaN'],
    [{ devices: 5, range: 2 ** 21 }, 'secure_aggregation.range is 2097152'],
    [{ devices: 5, maxWeight: 0 }, 'secure_aggregation.max_weight is 0'],
    [{ devices: 5, maxWeight: 1.5 }, 'secure_aggregation.max_weight is 1.5'],
  ])('%j is refused: %s', (requested, message) => {
    expect(() => secureSettings(requested)).toThrow(message)
  })
})

describe('settings that lose too much precision', () => {
  const warningFor = (range: number, maxWeight: number, devices = 3) =>
    coarsenessWarning(secureSettings({ devices, range, maxWeight }))

  test.each([
    [
      8,
      1_000_000,
      'is rounded to multiples of 0.0156, and its loss and accuracy to multiples of 2: lower max_weight or range.',
    ],
    [
      2 ** 20,
      1000,
      'is rounded to multiples of 2, and its loss and accuracy to multiples of 0.00195: lower max_weight or range.',
    ],
    [1e-300, 1, 'changes each model weight by at most 1e-300, in steps of 0: raise range (default: 8).'],
  ])('are reported with their effects: range %d and max_weight %d', (range, maxWeight, rest) => {
    expect(warningFor(range, maxWeight)).toBe(
      `secure_aggregation: with range ${range}, max_weight ${maxWeight}, and 3 devices, an update of weight 1 ${rest}`,
    )
  })

  test('do not include the defaults, even with the maximum number of devices, or other reasonable settings', () => {
    expect([warningFor(8, 1), warningFor(8, 1, 255), warningFor(8, 1000), warningFor(0.01, 1)]).toEqual(
      Array(4).fill(null),
    )
    expect(warningFor(2 ** 20, 1, 255)).toMatch(/: lower range\.$/)
  })
})
