/** Zero crossings of the sinc on each side. */
const CROSSINGS = 32
/** Kaiser's beta for 70 dB: 0.1102 (A - 8.7) (Kaiser 1974). */
const BETA = 6.755
/** As a fraction of the lower Nyquist frequency. The transition band, 0.135 wide, must end where aliasing begins. */
const CUTOFF = 0.93
/** With more phases than this, the nearest one is used; 44.1 to 16 kHz needs 160. */
const MAX_PHASES = 1024

/** The modified Bessel function of order zero, by its power series. */
const bessel0 = (x: number): number => {
  let sum = 1
  let term = 1
  for (let k = 1; term > sum * 1e-12; k += 1) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

interface Filter {
  /** Input samples per output sample. */
  readonly taps: number
  readonly phases: number
  readonly weights: Float64Array
}

/** Designs a Kaiser-windowed sinc for each phase that an output sample can have between two input samples. */
const designFilter = (from: number, to: number): Filter => {
  const scale = Math.min(1, to / from)
  const half = CROSSINGS / scale
  const taps = 2 * Math.ceil(half)
  const phases = Math.min(to / gcd(from, to), MAX_PHASES)
  const weights = new Float64Array(taps * phases)
  for (let phase = 0; phase < phases; phase += 1) {
    let sum = 0
    for (let tap = 0; tap < taps; tap += 1) {
      const x = tap - taps / 2 + 1 - phase / phases
      const angle = Math.PI * x * CUTOFF * scale
      const window = bessel0(BETA * Math.sqrt(Math.max(0, 1 - (x / half) ** 2)))
      const weight = (x === 0 ? 1 : Math.sin(angle) / angle) * window
      weights[phase * taps + tap] = weight
      sum += weight
    }
    // Normalizes each phase so that a constant passes unchanged. Otherwise the differences would be audible as a tone.
    for (let tap = 0; tap < taps; tap += 1) weights[phase * taps + tap]! /= sum
  }
  return { taps, phases, weights }
}

/** Changes the sample rate of audio that arrives in blocks. */
export interface Resampler {
  push(samples: Float32Array): Float32Array
  /** Returns the remaining samples. */
  end(): Float32Array
}

/**
 * Creates a band-limited resampler. Frequencies below 0.86 of the lower Nyquist frequency pass unchanged, and aliases are
 * attenuated by 70 dB. It assumes silence before the beginning and after the end, and adds no delay.
 */
export const createResampler = (from: number, to: number): Resampler => {
  if (from === to) return { push: (samples) => samples, end: () => new Float32Array(0) }
  const { taps, phases, weights } = designFilter(from, to)
  const lead = taps / 2 - 1
  /** Input that later output still needs, in doubles, which avoids conversions. `heldFrom` is its offset in the recording. */
  let held: Float64Array = new Float64Array(lead)
  let heldFrom = -lead
  let received = 0
  let made = 0

  /** Multiplies and sums input and weights, in four independent sums for speed. */
  const weighted = (input: Float64Array, first: number, offset: number): number => {
    let [a, b, c, d] = [0, 0, 0, 0]
    let tap = 0
    for (; tap + 3 < taps; tap += 4) {
      a += input[first + tap]! * weights[offset + tap]!
      b += input[first + tap + 1]! * weights[offset + tap + 1]!
      c += input[first + tap + 2]! * weights[offset + tap + 2]!
      d += input[first + tap + 3]! * weights[offset + tap + 3]!
    }
    for (; tap < taps; tap += 1) a += input[first + tap]! * weights[offset + tap]!
    return a + b + (c + d)
  }

  const make = (limit: number): Float32Array => {
    const input = held
    const possible = Math.max(0, Math.ceil(((heldFrom + input.length) * to) / from) - made + 1)
    const output = new Float32Array(Math.min(possible, limit - made))
    let count = 0
    for (; count < output.length; count += 1) {
      const position = ((made + count) * from) / to
      let start = Math.floor(position)
      let phase = Math.round((position - start) * phases)
      if (phase === phases) {
        phase = 0
        start += 1
      }
      const first = start - lead - heldFrom
      if (first + taps > input.length) break
      output[count] = weighted(input, first, phase * taps)
    }
    made += count
    const spent = Math.min(input.length, Math.floor((made * from) / to) - lead - heldFrom)
    held = input.slice(spent)
    heldFrom += spent
    return output.subarray(0, count)
  }

  const hold = (samples: Float32Array): void => {
    const longer = new Float64Array(held.length + samples.length)
    longer.set(held)
    longer.set(samples, held.length)
    held = longer
  }

  return {
    push: (samples) => {
      received += samples.length
      hold(samples)
      return make(Number.POSITIVE_INFINITY)
    },
    end: () => {
      hold(new Float32Array(taps))
      return make(Math.round((received * to) / from))
    },
  }
}
