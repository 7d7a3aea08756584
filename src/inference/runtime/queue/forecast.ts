/** Clients that follow OpenAI's ignore a Retry-After above a minute. */
const MAX_SECONDS = 60
/** How much the newest measurement weighs: a change of load shows after about five requests. */
const WEIGHT = 0.2

/** Foretells from how long slots were held until now when one will come free. */
export interface Forecast {
  /** A slot is taken; the result is to be called when it is given back. */
  enter(): () => void
  /**
   * Whole seconds, from 1 to 60, until a slot is expected to be left for whoever asks now. Each answer counts as a promise:
   * the next to ask is told of the slot after that, lest all come back for the same one.
   */
  nextFree(): number
}

export const createForecast = (slots: number, now: () => number): Forecast => {
  const taken = new Set<{ readonly since: number }>()
  let average: number | null = null
  let promised: number[] = []

  /** Before anything was measured, slots are held for at least as long as those that are held now have been. */
  const typical = (time: number): number =>
    average ?? [...taken].reduce((longest, { since }) => Math.max(longest, time - since), 0)

  return {
    enter() {
      const slot = { since: now() }
      taken.add(slot)
      return () => {
        taken.delete(slot)
        const held = now() - slot.since
        average = average === null ? held : average + WEIGHT * (held - average)
      }
    },
    nextFree() {
      const time = now()
      promised = promised.filter((moment) => moment > time)
      const wait = ((promised.length + 1) * typical(time)) / slots
      const seconds = Math.min(MAX_SECONDS, Math.max(1, Math.ceil(wait / 1000)))
      promised.push(time + seconds * 1000)
      return seconds
    },
  }
}
