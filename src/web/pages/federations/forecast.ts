import type { Series } from '../../parts/curve-data.ts'
import type { Spending } from './federation-records.ts'

const POINTS = 6

/** Returns the numbers of further rounds to request the forecast for, evenly up to the last one within the budget. */
export const forecastSteps = (roundsLeft: number): number[] => {
  const last = Math.min(roundsLeft, 1e9)
  const steps = Array.from({ length: POINTS }, (_, n) => Math.round((last * (n + 1)) / POINTS))
  return [...new Set(steps)].filter((step) => step >= 1)
}

export interface Projection {
  /** The number of further rounds. */
  readonly rounds: number
  /** Epsilon spent after these rounds; null while loading. */
  readonly epsilon: number | null
}

/** Returns the remaining budget after each private round, and a projection for rounds like the forecast one. */
export const burnDown = (
  budget: number,
  history: readonly Spending[],
  /** The number of rounds before the first of `history`. */
  before: number,
  projections: readonly Projection[],
): readonly Series[] => {
  const left = (epsilon: number): number => Math.max(0, budget - epsilon)
  const settled = history.flatMap(({ cumulative_epsilon }) => (cumulative_epsilon === null ? [] : [cumulative_epsilon]))
  const spent = settled.at(-1) ?? 0
  const rounds = before + settled.length
  const known = projections.filter(({ epsilon }) => epsilon !== null)
  return [
    {
      name: 'left',
      points: [
        ...(before === 0 ? [[0, budget] as const] : []),
        ...settled.map((epsilon, index) => [before + index + 1, left(epsilon)] as const),
      ],
    },
    ...(known.length === 0
      ? []
      : [
          {
            name: 'forecast',
            points: [
              [rounds, left(spent)] as const,
              ...known.map((further) => [rounds + further.rounds, left(further.epsilon!)] as const),
            ],
          },
        ]),
  ]
}
