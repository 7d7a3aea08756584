/** A computation that pauses every few milliseconds, so that whoever runs it can let others have a turn. */
export type Work<T> = Generator<void, T, void>

/** Runs it to its end without a pause. */
export const finish = <T>(work: Work<T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
