/** Events for one reader, who may come later than they do. */
export interface EventQueue<T> {
  push(event: T): void
  end(): void
  fail(error: Error): void
  next(): Promise<T | null>
}

export const createEventQueue = <T>(): EventQueue<T> => {
  const events: T[] = []
  let over = false
  let failure: Error | null = null
  let wake: () => void = () => undefined
  return {
    push: (event) => {
      events.push(event)
      wake()
    },
    end: () => {
      over = true
      wake()
    },
    fail: (error) => {
      failure ??= error
      wake()
    },
    next: async () => {
      for (;;) {
        const event = events.shift()
        if (event !== undefined) return event
        if (failure !== null) throw failure
        if (over) return null
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
