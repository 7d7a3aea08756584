import { expect, test } from 'vitest'
import { createResampler } from './resample.ts'
import { joined } from './sound.ts'

const sine = (frequency: number, rate: number, seconds: number): Float32Array =>
  Float32Array.from({ length: rate * seconds }, (_, at) => Math.sin((2 * Math.PI * frequency * at) / rate))

/** The amplitude of one frequency, measured away from the ends, where the filter includes silence. */
const amplitude = (samples: Float32Array, frequency: number, rate: number): number => {
  const middle = samples.subarray(rate / 10, samples.length - rate / 10)
  let [real, imaginary] = [0, 0]
  middle.forEach((sample, at) => {
    // Without a Hann window, a strong tone would leak into all other frequencies.
    const weight = sample * (1 - Math.cos((2 * Math.PI * at) / middle.length))
    real += weight * Math.cos((2 * Math.PI * frequency * at) / rate)
    imaginary += weight * Math.sin((2 * Math.PI * frequency * at) / rate)
  })
  return (2 / middle.length) * Math.hypot(real, imaginary)
}

const decibels = (ratio: number): number => 20 * Math.log10(ratio)

const resample = (samples: Float32Array, from: number, to: number): Float32Array => {
  const resampler = createResampler(from, to)
  return joined([resampler.push(samples), resampler.end()])
}

test.each([8000, 11_025, 44_100, 48_000, 16_001])(
  'a tone resampled from %i Hz keeps its frequency, amplitude, and length',
  (rate) => {
    for (const frequency of [100, 3400]) {
      const resampled = resample(sine(frequency, rate, 1), rate, 16_000)
      expect(resampled.length).toBe(16_000)
      expect(decibels(amplitude(resampled, frequency, 16_000))).toBeCloseTo(0, 1)
      const expected = sine(frequency, 16_000, 1)
      const error = resampled.map((sample, at) => sample - expected[at]!).subarray(1600, 14_400)
      expect(decibels(Math.max(...error.map(Math.abs)))).toBeLessThan(-50)
    }
  },
)

test.each([
  [8100, 7900],
  [9000, 7000],
  [12_000, 4000],
  [15_900, 100],
])('a tone of %i Hz does not alias to %i Hz', (frequency, alias) => {
  for (const rate of [44_100]) {
    const resampled = resample(sine(frequency, rate, 1), rate, 16_000)
    expect(decibels(amplitude(resampled, alias, 16_000))).toBeLessThan(-60)
  }
})

test('upsampling creates no mirrored tone', () => {
  const resampled = resample(sine(3000, 8000, 1), 8000, 16_000)
  expect(decibels(amplitude(resampled, 5000, 16_000))).toBeLessThan(-60)
})

test('resampling in blocks of any size gives the same result as resampling the whole', () => {
  const whole = sine(440, 44_100, 0.2)
  const resampler = createResampler(44_100, 16_000)
  const parts: Float32Array[] = []
  for (let at = 0, size = 1; at < whole.length; at += size, size = (size * 3) % 1009) {
    parts.push(resampler.push(whole.slice(at, at + size)))
  }
  parts.push(resampler.end())
  expect(joined(parts)).toEqual(resample(whole, 44_100, 16_000))
})
