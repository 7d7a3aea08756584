export interface TimeSlice {
  /** Aborted when it has lasted long enough and somebody else waits: whoever holds it lets go, and queues again. */
  readonly over: AbortSignal
  done(): void
}

export interface TimeSlices {
  /** First come, first served. Rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<TimeSlice>
}

/**
 * One at a time, and nobody for ever: after `lengthMs` a turn is over as soon as others wait. By the monotonic clock of
 * timers, so that no change of the date makes a turn longer or shorter.
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
