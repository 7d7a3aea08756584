/** A piece of work that comes round again. It must be safe to run in several processes at once. */
export interface Job {
  readonly name: string
  readonly everyMs: number
  readonly run: () => Promise<unknown>
}

export interface Clockwork {
  /** Runs a job as soon as possible, besides its interval. */
  wake(name: string): void
  /** Starts nothing any more, and waits for what runs. */
  stop(): Promise<void>
}

/**
 * Runs jobs at their intervals, each never beside itself. A job that throws is logged and comes round again: correctness
 * never rests on a timer, because whatever reads due state also moves it on.
 */
export const startClockwork = (
  jobs: readonly Job[],
  log: { error(fields: object, message: string): void },
): Clockwork => {
  let stopped = false
  const wheels = new Map(jobs.map((job) => [job.name, startWheel(job)]))

  function startWheel(job: Job) {
    let running: Promise<void> | null = null
    let again = false

    const turn = async (): Promise<void> => {
      do {
        again = false
        await job.run().catch((error: unknown) => log.error({ job: job.name, err: error }, 'job failed'))
      } while (again && !stopped)
    }
    const wake = (): void => {
      if (stopped) return
      again = running !== null
      running ??= turn().finally(() => {
        running = null
      })
    }
    const timer = setInterval(wake, job.everyMs)
    timer.unref()
    return { wake, timer, finished: () => running ?? Promise.resolve() }
  }

  return {
    wake: (name) => wheels.get(name)?.wake(),
    async stop() {
      stopped = true
      for (const wheel of wheels.values()) clearInterval(wheel.timer)
      await Promise.all([...wheels.values()].map((wheel) => wheel.finished()))
    },
  }
}
