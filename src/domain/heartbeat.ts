import type { Random } from './sampling.ts'

/** Heartbeats that the whole fleet should come to per second: a third of what one process answers on a small machine. */
const CHECK_INS_PER_SECOND = 1000
/** A device that is silent for five minutes is no longer active; one lost heartbeat must not do that. */
const MAX_SECONDS = 140
const MIN_SECONDS = 20
/**
 * Where training is under way, and there are few enough devices to ask: a second for those that wait for a round, two for
 * those that are about to work on one. A key may send 100 requests a minute, and a part in a round takes three besides.
 */
const EAGER_SECONDS = { soon: 1, now: 2 } as const

export interface PaceOptions {
  /** Devices that send heartbeats. */
  readonly fleet: number
  /** `now`: a round awaits the device; `soon`: there is training that it may take part in. */
  readonly urgency: 'now' | 'soon' | null
  /** How long the answer was held for the device (long polling): that time has passed already. */
  readonly heldSeconds: number
  readonly random: Random
}

/**
 * After how many seconds, a whole number, a device should send its next heartbeat: on average fleet / 1000, within 20 and
 * 140 s, and uniformly spread over half to one and a half of that, so that devices which came at the same moment do not
 * come together again (pace steering: Bonawitz et al. 2019, section 2.3). Every second or two while there is training, as
 * far as a fleet of that size allows; at once where it has waited for its answer longer than the fleet asks of it.
 */
export const nextHeartbeatSeconds = ({ fleet, urgency, heldSeconds, random }: PaceOptions): number => {
  const bearable = fleet / CHECK_INS_PER_SECOND
  if (heldSeconds > 0 && bearable <= heldSeconds) return 1
  const eager = urgency === null ? null : EAGER_SECONDS[urgency]
  if (eager !== null && bearable <= eager) return eager
  const mean = Math.min(MAX_SECONDS, Math.max(eager ?? MIN_SECONDS, bearable))
  return Math.max(1, Math.round(mean * (0.5 + random()) - heldSeconds))
}

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
