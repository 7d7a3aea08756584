export interface TimeSlice {
  /** Aborted when the turn has lasted long enough and others wait. Its holder then ends the turn, and queues again. */
  readonly over: AbortSignal
  done(): void
}

export interface TimeSlices {
  /** First come, first served. Rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<TimeSlice>
}

/**
 * A mutex with time slices: after `lengthMs` a turn ends as soon as others wait. It uses monotonic timers, so that a change of
 * the system time does not affect turns.
 */
export const createTimeSlices = (lengthMs: number): TimeSlices => {
  const queue: (() => void)[] = []
  let holder: { readonly end: AbortController; hasHadItsTime: boolean } | null = null

  const endIfDue = (): void => {
    if (holder?.hasHadItsTime && queue.length > 0) holder.end.abort(new Error('Other models are waiting.'))
  }

  const begin = (): TimeSlice => {
    const own = { end: new AbortController(), hasHadItsTime: false }
    holder = own
    const timer = setTimeout(() => {
      own.hasHadItsTime = true
      endIfDue()
    }, lengthMs)
    return {
      over: own.end.signal,
      done: () => {
        if (holder !== own) return
        clearTimeout(timer)
        holder = null
        queue.shift()?.()
      },
    }
  }

  return {
    take: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason)
          return
        }
        if (holder === null) {
          resolve(begin())
          return
        }
        const next = (): void => {
          signal.removeEventListener('abort', giveUp)
          resolve(begin())
        }
        const giveUp = (): void => {
          queue.splice(queue.indexOf(next), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        queue.push(next)
        endIfDue()
      }),
  }
}
