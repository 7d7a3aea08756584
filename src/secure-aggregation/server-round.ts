import { badRequest, conflict } from '../domain/errors.ts'
import { plural } from '../domain/plural.ts'
import {
  compareIds,
  fromHex,
  type KeysMessage,
  requireKeys,
  requireNames,
  type SharesMessage,
  sealedOf,
  shareOf,
  type UnmaskMessage,
} from './messages.ts'
import { KEY_BYTES, requireUsable } from './secrets.ts'
import type { SecureSettings } from './settings.ts'

/** The service's side: the round's progress. Each of the first four statuses waits for one message from each device. */
export type SecureStatus = 'advertising' | 'sharing' | 'masking' | 'unmasking' | 'done' | 'failed'
export type OpenStatus = Exclude<SecureStatus, 'done' | 'failed'>

const NEXT_STEP: Readonly<Record<OpenStatus, SecureStatus>> = {
  advertising: 'sharing',
  sharing: 'masking',
  masking: 'unmasking',
  unmasking: 'done',
}

/** What a device must have done to count as having completed a step. */
const DID: Readonly<Record<OpenStatus, string>> = {
  advertising: 'sent its public keys',
  sharing: 'sent its shares',
  masking: 'delivered its masked update',
  unmasking: 'sent its shares for unmasking',
}

/** The same of several devices. */
const ALL_DID: Readonly<Record<OpenStatus, string>> = {
  advertising: 'sent their public keys',
  sharing: 'sent their shares',
  masking: 'delivered their masked updates',
  unmasking: 'sent their shares for unmasking',
}

/**
 * The service's state of a secure round: plain data. `cohort` are the devices that the current step waits for (null while any
 * device may join); `dealt` and `delivered` are those that completed steps 2 and 3 in time, sorted by name.
 */
export interface SecureRound {
  readonly roundId: string
  readonly settings: SecureSettings
  readonly status: SecureStatus
  readonly cohort: readonly string[] | null
  readonly dealt: readonly string[]
  readonly delivered: readonly string[]
  readonly reason: string | null
}

export const openRound = (roundId: string, settings: SecureSettings): SecureRound => ({
  roundId,
  settings,
  status: 'advertising',
  cohort: null,
  dealt: [],
  delivered: [],
  reason: null,
})

export const isOpen = (status: SecureStatus): status is OpenStatus => status !== 'done' && status !== 'failed'

/**
 * Throws conflict unless the round expects this step from this device. `answered` are the devices whose message for the step
 * has arrived; a second one is refused, even if it differs.
 */
export const requireTurn = (
  round: SecureRound,
  status: OpenStatus,
  device: string,
  answered: ReadonlySet<string>,
): void => {
  if (round.status !== status) {
    const isLate = status === 'masking' && (round.status === 'unmasking' || round.status === 'done')
    const why = round.reason ?? (isLate ? 'It stopped waiting for masked updates; this one is not needed.' : null)
    throw conflict(`The secure round is ${round.status}, not ${status}.${why === null ? '' : ` ${why}`}`)
  }
  if (round.cohort !== null && !round.cohort.includes(device)) {
    throw conflict(`Device '${device}' was dropped from the round: it missed an earlier step.`)
  }
  if (answered.has(device)) throw conflict(`Device '${device}' has ${DID[status]} already; the first message counts.`)
  if (round.cohort === null && answered.size >= round.settings.devices) {
    throw conflict(`All ${round.settings.devices} places of the secure round are taken.`)
  }
}

/** Step 1. To prevent replays, refuses keys that another device, or this device in its other role, has advertised. */
export const checkKeys = (
  device: string,
  message: KeysMessage,
  others: Readonly<Record<string, KeysMessage>>,
): void => {
  requireKeys(device, message)
  for (const key of [message.encryptionKey, message.maskingKey]) requireUsable(fromHex(key, KEY_BYTES, 'key'), device)
  const taken = new Set(Object.values(others).flatMap((keys) => [keys.encryptionKey, keys.maskingKey]))
  if (taken.has(message.encryptionKey) || taken.has(message.maskingKey)) {
    throw badRequest(`A public key of '${device}' is used by another device of the round. Generate new keys.`)
  }
}

/** Step 2: checks for a share for each other device of the roster, each with the only valid length. */
export const checkShares = (round: SecureRound, device: string, message: SharesMessage): void => {
  fromHex(message.seedCommitment, KEY_BYTES, 'seed_commitment')
  const peers = round.cohort!.filter((name) => name !== device)
  requireNames(peers, Object.keys(message.sealed), 'The list of shares')
  for (const peer of peers) sealedOf(message.sealed[peer], peer)
}

/** Step 3: checks for one word per coordinate, plus the trailer. */
export const checkMaskedSize = (bytes: number, words: number): void => {
  if (bytes !== words * 4) {
    throw badRequest(`The masked update has ${bytes} bytes; the model takes ${words} words of 4 bytes, ${words * 4}.`)
  }
}

/** Step 4: checks for one share per device that dealt: of the self mask if it delivered, otherwise of the masking key. */
export const checkUnmask = (round: SecureRound, message: UnmaskMessage): void => {
  const { dealt, delivered } = round
  const gone = dealt.filter((name) => !delivered.includes(name))
  requireNames(delivered, Object.keys(message.selfMasks), 'self_masks')
  requireNames(gone, Object.keys(message.maskingKeys), 'masking_keys')
  for (const name of delivered) shareOf(message.selfMasks[name], name)
  for (const name of gone) shareOf(message.maskingKeys[name], name)
}

/**
 * True if the step is over: all `expected` have answered (in the last step, as many as the threshold), or the deadline has
 * passed (`past`).
 */
export const isStepOver = (round: SecureRound, answered: number, expected: number, past: boolean): boolean => {
  if (!isOpen(round.status)) return false
  return past || answered >= (round.status === 'unmasking' ? round.settings.threshold : expected)
}

/** The devices of a step that have not answered: how many reported a failure, and whether there are others, which are late. */
export interface Missing {
  readonly failed: number
  readonly late: boolean
}
const LATE: Missing = { failed: 0, late: true }

/** Ends the step. The devices that answered continue; if they are fewer than the threshold, the round fails with a reason. */
export const closeStep = (round: SecureRound, answered: readonly string[], missing: Missing = LATE): SecureRound => {
  const status = round.status
  if (!isOpen(status)) throw conflict(`The secure round is ${status} already.`)
  const { threshold } = round.settings
  if (answered.length < threshold) {
    const did = answered.length === 1 ? DID[status] : ALL_DID[status]
    const reason =
      `Secure aggregation needs ${plural(threshold, 'device')}; only ${plural(answered.length, 'device')} ${did}` +
      `${missing.late ? ' in time' : ''}${missing.failed > 0 ? `, and ${plural(missing.failed, 'device')} failed` : ''}. ` +
      'Nothing of any update was revealed.'
    return failRound(round, reason)
  }
  const cohort = [...answered].sort(compareIds)
  return {
    ...round,
    status: NEXT_STEP[status],
    cohort,
    dealt: status === 'sharing' ? cohort : round.dealt,
    delivered: status === 'masking' ? cohort : round.delivered,
  }
}

/** Ends the round: too few devices answered by the deadline, or it was stopped. */
export const failRound = (round: SecureRound, reason: string): SecureRound => {
  if (!isOpen(round.status)) throw conflict(`The secure round is ${round.status}; it cannot fail.`)
  return { ...round, status: 'failed', reason }
}
