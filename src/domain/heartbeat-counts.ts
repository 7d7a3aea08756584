/** Heartbeats are counted by quarters of an hour, of which a day is kept. */
export const SLOT_SECONDS = 15 * 60
export const MAX_SLOTS = 96

/** The quarter of an hour since 1970. */
export const slotAt = (time: Date): number => Math.floor(time.getTime() / 1000 / SLOT_SECONDS)

/**
 * Heartbeats in each quarter of an hour of the last day, the current one last.
 * @param counts the latest ones that are known
 * @param lastSlot the slot of the last of them
 * @param now the current slot
 */
export const lastDay = (counts: readonly number[], lastSlot: number, now: number): readonly number[] => {
  const silent = Math.min(MAX_SLOTS, Math.max(0, now - lastSlot))
  const known = [...counts, ...Array<number>(silent).fill(0)].slice(-MAX_SLOTS)
  return [...Array<number>(MAX_SLOTS - known.length).fill(0), ...known]
}
