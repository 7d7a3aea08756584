/** The target for the whole fleet's heartbeats per second: a third of what one process handles on a small machine. */
const CHECK_INS_PER_SECOND = 1000
/** A device is inactive after five minutes of silence; one lost heartbeat must not cause that. */
const MAX_SECONDS = 140
const MIN_SECONDS = 20
/**
 * The interval during training, if the fleet is small enough: one second for devices that wait for a round, two for those that
 * a round awaits. A key may send 100 requests a minute, and taking part in a round needs three more.
 */
const EAGER_SECONDS = { soon: 1, now: 2 } as const

export interface PaceOptions {
  /** The number of devices that send heartbeats. */
  readonly fleet: number
  /** `now`: a round awaits the device; `soon`: the device may take part in a training job. */
  readonly urgency: 'now' | 'soon' | null
  /** How long the response was held for the device (long polling), which counts toward the interval. */
  readonly heldSeconds: number
  /** A number in [0, 1), uniformly distributed. */
  readonly random: () => number
}

/**
 * Returns the whole number of seconds until a device should send its next heartbeat: on average fleet / 1000, within 20 and 140
 * s, and uniformly random between half and one and a half of that, so that devices which arrived together spread out (pace
 * steering: Bonawitz et al. 2019, section 2.3). During training: 1 or 2 s if the fleet's size allows. After a long poll that
 * took at least fleet / 1000: 1 s.
 */
export const nextHeartbeatSeconds = ({ fleet, urgency, heldSeconds, random }: PaceOptions): number => {
  const bearable = fleet / CHECK_INS_PER_SECOND
  if (heldSeconds > 0 && bearable <= heldSeconds) return 1
  const eager = urgency === null ? null : EAGER_SECONDS[urgency]
  if (eager !== null && bearable <= eager) return eager
  const mean = Math.min(MAX_SECONDS, Math.max(eager ?? MIN_SECONDS, bearable))
  return Math.max(1, Math.round(mean * (0.5 + random()) - heldSeconds))
}

/** Heartbeats are counted per quarter hour, for one day. */
export const SLOT_SECONDS = 15 * 60
export const MAX_SLOTS = 96

/** Returns the number of quarter hours since 1970. */
export const slotAt = (time: Date): number => Math.floor(time.getTime() / 1000 / SLOT_SECONDS)

/**
 * Returns the heartbeats in each quarter hour of the last day, the current one last.
 * @param counts the most recent known counts
 * @param lastSlot the slot of the last count
 * @param now the current slot
 */
export const lastDay = (counts: readonly number[], lastSlot: number, now: number): readonly number[] => {
  const silent = Math.min(MAX_SLOTS, Math.max(0, now - lastSlot))
  const known = [...counts, ...Array<number>(silent).fill(0)].slice(-MAX_SLOTS)
  return [...Array<number>(MAX_SLOTS - known.length).fill(0), ...known]
}
