import { joined } from './sound.ts'

/** Zero crossings of the sinc on each side. */
const CROSSINGS = 32
/** Kaiser's beta for 70 dB: 0.1102 (A - 8.7) (Kaiser 1974). */
const BETA = 6.755
/** Of the lower of both Nyquist frequencies: the filter's slope, 0.135 wide, is to end where aliasing begins. */
const CUTOFF = 0.93
/** With more phases than this the nearest one is taken; 44.1 to 16 kHz needs 160. */
const MOST_PHASES = 1024

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
  /** Input samples that one output sample is made of. */
  readonly taps: number
  readonly phases: number
  readonly weights: Float32Array
}

/** A Kaiser-windowed sinc, at each phase that an output sample can have between two input samples. */
const designFilter = (from: number, to: number): Filter => {
  const scale = Math.min(1, to / from)
  const half = CROSSINGS / scale
  const taps = 2 * Math.ceil(half)
  const phases = Math.min(to / gcd(from, to), MOST_PHASES)
  const weights = new Float32Array(taps * phases)
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
    // Each phase passes a constant unchanged; else the phases' differences would be heard as a tone.
    for (let tap = 0; tap < taps; tap += 1) weights[phase * taps + tap]! /= sum
  }
  return { taps, phases, weights }
}

/** Changes the sample rate of sound that comes in blocks. */
export interface Resampler {
  push(samples: Float32Array): Float32Array
  /** What the last samples become. */
  end(): Float32Array
}

/**
 * Band-limited resampling: what lies below 0.86 of the lower Nyquist frequency passes unchanged, what would alias is 70 dB
 * down. Before the beginning and after the end there is silence; the delay is none.
 */
export const createResampler = (from: number, to: number): Resampler => {
  if (from === to) return { push: (samples) => samples, end: () => new Float32Array(0) }
  const { taps, phases, weights } = designFilter(from, to)
  const lead = taps / 2 - 1
  /** Input that later output still needs, beginning at this input sample (counted from the recording's first). */
  let held: Float32Array = new Float32Array(lead)
  let heldFrom = -lead
  let received = 0
  let made = 0

  const make = (limit: number): Float32Array => {
    const output: number[] = []
    for (; made < limit; made += 1) {
      const position = (made * from) / to
      let start = Math.floor(position)
      let phase = Math.round((position - start) * phases)
      if (phase === phases) {
        phase = 0
        start += 1
      }
      const first = start - lead - heldFrom
      if (first + taps > held.length) break
      let sum = 0
      for (let tap = 0; tap < taps; tap += 1) sum += held[first + tap]! * weights[phase * taps + tap]!
      output.push(sum)
    }
    const spent = Math.min(held.length, Math.floor((made * from) / to) - lead - heldFrom)
    held = held.slice(spent)
    heldFrom += spent
    return Float32Array.from(output)
  }

  return {
    push: (samples) => {
      received += samples.length
      held = joined([held, samples])
      return make(Number.POSITIVE_INFINITY)
    },
    end: () => {
      held = joined([held, new Float32Array(taps)])
      return make(Math.round((received * to) / from))
    },
  }
}
