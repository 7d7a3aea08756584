import { badRequest, conflict } from '../domain/errors.ts'
import { ownEntry } from '../domain/own-entry.ts'
import { addMasks, type ExpandMask, type MaskStream } from './mask.ts'
import {
  compareIds,
  fromHex,
  type KeysMessage,
  type Roster,
  requireKeys,
  type SharesMessage,
  sealedOf,
  toHex,
  type UnmaskMessage,
} from './messages.ts'
import {
  KEY_BYTES,
  pairMask,
  publicKeyOf,
  type RandomBytes,
  seedCommitment,
  selfMask,
  shareKey,
  systemRandom,
} from './secrets.ts'
import type { SecureSettings } from './settings.ts'
import { openShares, type Route, sealShares, splitSecret } from './shares.ts'

interface Agreed {
  readonly roundId: string
  readonly device: string
  readonly settings: SecureSettings
}

/** Secret keys and the self mask's seed, as hex; valid for one round. */
interface Secrets {
  readonly encryption: string
  readonly masking: string
  readonly selfSeed: string
}

interface HexPair {
  readonly maskingKey: string
  readonly selfMask: string
}

export interface Advertised extends Agreed {
  readonly step: 'advertised'
  readonly secrets: Secrets
  readonly message: KeysMessage
}

export interface Shared extends Agreed {
  readonly step: 'shared'
  readonly secrets: Secrets
  readonly roster: Roster
  /** This device's shares of its own secrets. */
  readonly kept: HexPair
  readonly message: SharesMessage
}

export interface Masked extends Agreed {
  readonly step: 'masked'
  /** Its shares of the secrets of each device in the sum, including itself. Its own secrets have been deleted by now. */
  readonly held: Readonly<Record<string, HexPair>>
}

export interface Unmasked extends Agreed {
  readonly step: 'unmasked'
  /** The list that it answered for. The shares that it did not reveal have been deleted. */
  readonly delivered: readonly string[]
  readonly message: UnmaskMessage
}

/**
 * A device's state in a secure round: plain data. Store it privately, and before sending its message. A device repeats no step:
 * two different vectors under the same masks would reveal their difference. `message` may be sent again as often as necessary.
 * Delete the state after the round.
 */
export type DevicePart = Advertised | Shared | Masked | Unmasked

const notNow = (part: DevicePart, requested: string) =>
  conflict(`The device was asked to ${requested}, but its part in this round is '${part.step}'. No step is repeated.`)

const requireRound = (part: DevicePart, roundId: string): void => {
  if (roundId !== part.roundId) {
    throw conflict(`The message is for round ${roundId}; this device takes part in round ${part.roundId}.`)
  }
}

/** Step 1: generates keys and a seed. */
export const advertise = (agreed: Agreed, random: RandomBytes = systemRandom): Advertised => {
  const [encryption, masking, seed] = [random(KEY_BYTES), random(KEY_BYTES), random(KEY_BYTES)] as const
  return {
    roundId: agreed.roundId,
    device: agreed.device,
    settings: agreed.settings,
    step: 'advertised',
    secrets: { encryption: toHex(encryption), masking: toHex(masking), selfSeed: toHex(seed) },
    message: { encryptionKey: toHex(publicKeyOf(encryption)), maskingKey: toHex(publicKeyOf(masking)) },
  }
}

const requireRoster = (part: Advertised, roster: Roster): void => {
  const { devices, threshold } = part.settings
  const names = Object.keys(roster)
  if (names.length > devices || names.length < threshold) {
    throw conflict(`The roster has ${names.length} devices; this device agreed to between ${threshold} and ${devices}.`)
  }
  const seen = new Set<string>()
  for (const [name, keys] of Object.entries(roster)) {
    requireKeys(name, keys)
    for (const key of [keys.encryptionKey, keys.maskingKey]) {
      if (seen.has(key)) throw badRequest(`The roster has a public key twice, the second time for '${name}'.`)
      seen.add(key)
    }
  }
  const own = ownEntry(roster, part.device)
  if (own?.encryptionKey !== part.message.encryptionKey || own.maskingKey !== part.message.maskingKey) {
    throw conflict('The roster does not have the keys that this device advertised. It takes no part in such a round.')
  }
}

/**
 * Step 2: deals shares of the masking key and of the seed to every device of the roster. Throws if the roster is smaller than
 * the threshold, larger than agreed, or has different keys under this device's name.
 */
export const dealShares = async (
  part: DevicePart,
  roundId: string,
  roster: Roster,
  random: RandomBytes = systemRandom,
): Promise<Shared> => {
  requireRound(part, roundId)
  if (part.step !== 'advertised') throw notNow(part, 'send shares')
  requireRoster(part, roster)
  const { device, settings, secrets } = part
  const names = Object.keys(roster).sort(compareIds)
  const seed = secretOf(secrets.selfSeed)
  const maskingKeys = await splitSecret(secretOf(secrets.masking), names.length, settings.threshold)
  const selfMasks = await splitSecret(seed, names.length, settings.threshold)
  const pairs = names.map((to, i) => ({ to, pair: { maskingKey: maskingKeys[i]!, selfMask: selfMasks[i]! } }))
  const own = pairs.find(({ to }) => to === device)!.pair
  const sealed = pairs
    .filter(({ to }) => to !== device)
    .map(({ to, pair }) => {
      const route = { roundId, from: device, to }
      return [to, toHex(sealShares(keyFor(route, device, secrets, roster), route, pair, random))] as const
    })
  return {
    roundId,
    device,
    settings,
    step: 'shared',
    secrets,
    roster,
    kept: { maskingKey: toHex(own.maskingKey), selfMask: toHex(own.selfMask) },
    message: {
      seedCommitment: toHex(seedCommitment(roundId, device, seed)),
      sealed: Object.fromEntries(sealed),
    },
  }
}

const secretOf = (hex: string): Uint8Array => fromHex(hex, KEY_BYTES, 'A secret of this device')

const keyFor = (route: Route, device: string, secrets: Secrets, roster: Roster): Uint8Array => {
  const peer = route.from === device ? route.to : route.from
  const theirPublicKey = fromHex(roster[peer]!.encryptionKey, KEY_BYTES, `encryption_key of '${peer}'`)
  return shareKey(route, { device, secretKey: secretOf(secrets.encryption), theirPublicKey })
}

/**
 * Step 3: masks `words` (see encodeContribution) in place. `received` are the shares that the other devices dealt to this one;
 * devices missing from it have left, and get no mask. Throws, with `words` unchanged, if a share was tampered with or fewer
 * devices than the threshold remain. Cost: one stream of `words.length` per device.
 */
export const maskInput = (
  part: DevicePart,
  roundId: string,
  received: Readonly<Record<string, string>>,
  words: Uint32Array,
  expand?: ExpandMask,
): Masked => {
  requireRound(part, roundId)
  if (part.step !== 'shared') throw notNow(part, 'mask its update')
  const { device, settings, secrets, roster } = part
  const peers = Object.keys(received).sort(compareIds)
  const unknown = peers.find((peer) => ownEntry(roster, peer) === undefined || peer === device)
  if (unknown !== undefined) throw badRequest(`There are shares from '${unknown}', to which this device sent none.`)
  if (peers.length + 1 < settings.threshold) {
    throw conflict(
      `Only ${peers.length + 1} devices sent shares; this device agreed to no fewer than ${settings.threshold}.`,
    )
  }
  const held: [string, HexPair][] = [[device, part.kept]]
  const streams: MaskStream[] = [selfMask(roundId, device, secretOf(secrets.selfSeed))]
  for (const peer of peers) {
    const route = { roundId, from: peer, to: device }
    const pair = openShares(keyFor(route, device, secrets, roster), route, sealedOf(received[peer], device))
    held.push([peer, { maskingKey: toHex(pair.maskingKey), selfMask: toHex(pair.selfMask) }])
    const theirs = fromHex(roster[peer]!.maskingKey, KEY_BYTES, `masking_key of '${peer}'`)
    streams.push(pairMask(roundId, device, secretOf(secrets.masking), peer, theirs))
  }
  addMasks(words, streams, 0, expand)
  return { roundId, device, settings, step: 'masked', held: Object.fromEntries(held) }
}

/**
 * Step 4: reveals one share for every device of the sum: of its self mask if it is in `delivered`, otherwise of its masking
 * key; never both. Gives the same answer for the same list. Throws if the list differs, is below the threshold, or leaves this
 * device out.
 */
export const revealShares = (part: DevicePart, roundId: string, delivered: readonly string[]): Unmasked => {
  requireRound(part, roundId)
  const list = [...new Set(delivered)].sort(compareIds)
  if (part.step === 'unmasked') {
    if (JSON.stringify(list) === JSON.stringify(part.delivered)) return part
    throw conflict('This device has already revealed shares for another list. A second list could expose an update.')
  }
  if (part.step !== 'masked') throw notNow(part, 'reveal shares')
  const { held, device, settings } = part
  const stranger = list.find((name) => ownEntry(held, name) === undefined)
  if (stranger !== undefined) throw badRequest(`'${stranger}' is listed as having submitted, but it sent no shares.`)
  if (!list.includes(device)) throw conflict('This device submitted its update, but is missing from the list.')
  if (list.length < settings.threshold) {
    throw conflict(`Only ${list.length} devices submitted; this device reveals nothing below ${settings.threshold}.`)
  }
  const names = Object.keys(held).sort(compareIds)
  const stayed = new Set(list)
  const select = (present: boolean, kind: keyof HexPair) =>
    Object.fromEntries(names.filter((name) => stayed.has(name) === present).map((name) => [name, held[name]![kind]]))
  return {
    roundId: part.roundId,
    device,
    settings,
    step: 'unmasked',
    delivered: list,
    message: { selfMasks: select(true, 'selfMask'), maskingKeys: select(false, 'maskingKey') },
  }
}
