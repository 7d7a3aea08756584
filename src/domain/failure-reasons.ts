// Reasons why devices failed in a round, either from the service or from the device itself.

export const NOT_DELIVERED = 'Had not submitted an update when the round closed.'
/** Of a device that over-selection drew in addition; no failure. */
export const NOT_NEEDED = 'Not needed: enough other devices had submitted an update.'
export const NOT_DELIVERED_IN_TIME = 'Had not submitted an update when the round timed out.'
/** Of a round and its devices, which could not submit; no failure of theirs. */
export const NOT_RUNNING = "The service was not running when the round's time ran out."
export const STOPPED_HEARTBEATS = 'Stopped sending heartbeats while it trained.'
/** Why an asynchronous job drops a device whose update would be too stale. */
export const TOO_OLD = 'The job continued without this device: its model is too old.'
export const departed = (orgId: string): string => `'${orgId}' is no longer a member of the federation.`

/** Shown to other organizations instead of a device's own description, which may contain anything. */
const REPORTED = 'The device reported a failure.'
const NOT_COMPLETED = 'The round could no longer be completed'
/** For a device in a round that could not reach min_devices; `why` may contain the reasons of other devices. */
export const notCompleted = (why: string): string => `${NOT_COMPLETED}: ${why}.`

/**
 * A regular expression, for JavaScript and PostgreSQL, that matches a reason from what a device wrote to the end. The first group
 * is the service's introduction to it.
 */
export const REPORTED_REASON = '( devices? failed: | Most often: ).*$'

/** The reason without what devices wrote, for records that an erasure of a device does not change. */
export const withoutDevicesWords = (reason: string): string => reason.replace(new RegExp(REPORTED_REASON, 's'), '$1...')

const OF_SERVICE = [
  NOT_DELIVERED,
  NOT_NEEDED,
  NOT_DELIVERED_IN_TIME,
  NOT_RUNNING,
  TOO_OLD,
  /^'[^']*' is no longer a member of the federation\.$/,
  /^Did not fetch the plan within \d+ s\.$/,
  STOPPED_HEARTBEATS,
  /^(All \d+ requested rounds are|The requested round is) completed\.$/,
  /^The training job was stopped\.$/,
]

/** A device's reason as other organizations see it, without its own description. `ofRound` is why the round failed. */
export const reasonForOthers = (reason: string, ofRound: string | null): string => {
  if (reason.startsWith(`${NOT_COMPLETED}: `)) return `${NOT_COMPLETED}.`
  const isOfService =
    reason === ofRound ||
    OF_SERVICE.some((known) => (typeof known === 'string' ? known === reason : known.test(reason)))
  return isOfService ? reason : REPORTED
}

/** Does the same for reasons with counts; sorts them by count, highest first. */
export const countedForOthers = (
  reasons: readonly { readonly reason: string; readonly count: number }[],
): readonly { readonly reason: string; readonly count: number }[] => {
  const counts = new Map<string, number>()
  for (const { reason, count } of reasons) {
    const shown = reasonForOthers(reason, null)
    counts.set(shown, (counts.get(shown) ?? 0) + count)
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count)
}
