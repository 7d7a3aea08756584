import type { NoisySteps } from './mechanism.ts'

interface Reference {
  readonly delta: number
  /** Noise multiplier, sampling rate, steps. */
  readonly rounds: readonly (readonly [sigma: number, q: number, steps: number])[]
  readonly rdp: number
  readonly pld: number
}

/**
 * Epsilons by Google's dp_accounting 0.6.0, run from source under Python 3.11 with NumPy 2.4.6 and SciPy 1.17.1. rdp:
 * RdpAccountant with our integer orders. Since 2024 it sums absolute values of an alternating series at fractional orders,
 * which is up to 0.011 above the true moments here. pld: PLDAccountant, whose error shrinks with the square of
 * value_discretization_interval: extrapolated to zero from two intervals (2e-4 and 1e-4; for 10,000 steps 4e-5 and 2e-5; for
 * noise 5 2e-5 and 1e-5). The two differed by less than 8e-5, mostly by less than 4e-6.
 */
export const DP_ACCOUNTING: readonly Reference[] = [
  { delta: 1e-5, rounds: [[1, 1, 1]], rdp: 4.752728337, pld: 4.3771781 },
  { delta: 1e-8, rounds: [[0.6, 1, 1]], rdp: 10.924111601, pld: 10.30582451 },
  { delta: 1e-6, rounds: [[20, 1, 1000]], rdp: 8.855389993, pld: 8.30622505 },
  { delta: 1e-5, rounds: [[1.1, 256 / 60_000, 10000]], rdp: 2.163152227, pld: 1.97790246 },
  { delta: 1e-7, rounds: [[1.2, 0.05, 2]], rdp: 1.72619925, pld: 1.30453781 },
  { delta: 1e-5, rounds: [[1.1, 0.1, 1]], rdp: 1.773986687, pld: 1.359029 },
  { delta: 1e-6, rounds: [[1.1, 0.1, 100]], rdp: 7.512574946, pld: 6.7633732 },
  { delta: 1e-6, rounds: [[0.5, 0.01, 1000]], rdp: 17.774718511, pld: 15.48352678 },
  { delta: 1e-7, rounds: [[0.7, 0.02, 300]], rdp: 8.821714346, pld: 7.38429358 },
  { delta: 1e-7, rounds: [[0.8, 0.001, 50]], rdp: 1.640607939, pld: 0.37842176 },
  { delta: 1e-8, rounds: [[4, 0.5, 30]], rdp: 4.320696978, pld: 4.06795393 },
  { delta: 1e-5, rounds: [[10, 0.9, 400]], rdp: 9.585589765, pld: 8.79781481 },
  { delta: 1e-8, rounds: [[5, 0.001, 10000]], rdp: 0.099372237, pld: 0.09293396 },
  { delta: 1e-7, rounds: [[50, 0.2, 10000]], rdp: 2.083817559, pld: 1.95700244 },
  { delta: 1e-5, rounds: [[1, 0.01, 10000]], rdp: 6.719402118, pld: 6.18771238 },
  { delta: 1e-8, rounds: [[2, 0.3, 7]], rdp: 3.319962642, pld: 3.03805555 },
  {
    delta: 1e-5,
    rounds: [
      [1, 0.01, 100],
      [2, 0.1, 50],
      [3, 0.5, 4],
    ],
    rdp: 2.546374225,
    pld: 2.29982244,
  },
  {
    delta: 1e-6,
    rounds: [
      [1.1, 0.1, 10],
      [4, 1, 20],
      [0.8, 0.005, 500],
    ],
    rdp: 6.719308576,
    pld: 6.16814904,
  },
  {
    delta: 1e-7,
    rounds: [
      [0.9, 0.02, 1],
      [0.95, 0.02, 1],
      [1, 0.03, 1],
      [1.2, 0.05, 2],
      [1.6, 0.08, 3],
      [2.4, 0.2, 5],
      [8, 1, 9],
    ],
    rdp: 3.000983408,
    pld: 2.42390464,
  },
  { delta: 1e-5, rounds: [[0.6, 0.05, 200]], rdp: 17.529537692, pld: 15.46184277 },
]

/** Twenty different rounds, and their epsilon by dp_accounting at delta 1e-5. */
export const ALL_DIFFERENT = {
  rounds: Array.from({ length: 20 }, (_, n) => [1 + n / 10, 0.1 + n / 200, 1] as const),
  pld: 2.25360657,
}

export const stepsOf = ({ rounds }: Pick<Reference, 'rounds'>): NoisySteps[] =>
  rounds.map(([noiseMultiplier, sampleRate, steps]) => ({ noiseMultiplier, sampleRate, steps }))
