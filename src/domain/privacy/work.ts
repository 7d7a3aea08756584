/** A computation that pauses every few milliseconds, so that whoever runs it can let others have a turn. */
export type Work<T> = Generator<void, T, void>

/** Numbers that are looked at between two pauses: some milliseconds, also where they lie scattered in memory. */
const A_TURN = 2 ** 14

/** Whether a loop over many numbers pauses after this one. */
export const isTurnOver = (index: number): boolean => index % A_TURN === A_TURN - 1

/** Runs it to its end without a pause. */
export const finish = <T>(work: Work<T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
