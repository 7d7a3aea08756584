import { createRandom } from '../src/domain/random-numbers.ts'

/** Whole numbers below a bound, the same in every run. */
export const randomFrom = (seed: number): ((below: number) => number) => {
  const random = createRandom(seed)
  return (below) => Math.floor(random() * below)
}
