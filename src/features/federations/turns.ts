import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Work } from '../../domain/privacy/work.ts'

/** How long the event loop is held at once; a single step of a computation may take a little longer. */
const TURN_MS = 8

/**
 * Runs long computations in short turns, one after another in a ring: heartbeats are answered in between, and a short
 * computation does not wait for the end of a long one. However many there are, the loop is held for one turn at a time.
 */
export const createTurns = () => {
  const ring: (() => boolean)[] = []
  let isTurning = false

  const turn = async (): Promise<void> => {
    isTurning = true
    // Whoever else comes in this turn is in the ring before the first one starts.
    await nextTurn()
    for (let next = ring.shift(); next !== undefined; next = ring.shift()) {
      if (!next()) ring.push(next)
      await nextTurn()
    }
    isTurning = false
  }

  return <T>(work: Work<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      ring.push(() => {
        const until = performance.now() + TURN_MS
        try {
          do {
            const { done, value } = work.next()
            if (done === true) {
              resolve(value)
              return true
            }
          } while (performance.now() < until)
          return false
        } catch (error) {
          reject(error)
          return true
        }
      })
      if (!isTurning) void turn()
    })
}

export type InTurns = ReturnType<typeof createTurns>
