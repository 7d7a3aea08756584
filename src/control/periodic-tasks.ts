/** A piece of work that comes round again. It must be safe to run in several processes at once. */
export interface Job {
  readonly name: string
  readonly everyMs: number
  readonly run: () => Promise<unknown>
}

export interface Clockwork {
  /** Runs a job as soon as possible, besides its interval. Resolves when a run that began after this call has ended. */
  wake(name: string): Promise<void>
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
    let running: Promise<void> = Promise.resolve()
    let next: Promise<void> | null = null

    const turn = async (): Promise<void> => {
      next = null
      if (stopped) return
      await job.run().catch((error: unknown) => log.error({ job: job.name, err: error }, 'job failed'))
    }
    /** Calls while a run is under way share the one that follows it. */
    const wake = (): Promise<void> => {
      next ??= running = running.then(turn)
      return next
    }
    const timer = setInterval(wake, job.everyMs)
    timer.unref()
    return { wake, timer, finished: () => running }
  }

  return {
    wake: (name) => wheels.get(name)?.wake() ?? Promise.resolve(),
    async stop() {
      stopped = true
      for (const wheel of wheels.values()) clearInterval(wheel.timer)
      await Promise.all([...wheels.values()].map((wheel) => wheel.finished()))
    },
  }
}
