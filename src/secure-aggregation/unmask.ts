import { conflict } from '../domain/errors.ts'
import type { MaskStream } from './mask.ts'
import {
  compareIds,
  fromHex,
  type KeysMessage,
  type SharesMessage,
  shareOf,
  toHex,
  type UnmaskMessage,
} from './messages.ts'
import { KEY_BYTES, type KeyAgreement, pairMask, publicKeyOf, seedCommitment, selfMask } from './secrets.ts'
import type { SecureRound } from './server-round.ts'
import { combineShares } from './shares.ts'

/** What the service has received, by device. */
export interface Received {
  readonly keys: Readonly<Record<string, KeysMessage>>
  readonly shares: Readonly<Record<string, Pick<SharesMessage, 'seedCommitment'>>>
  readonly responses: Readonly<Record<string, UnmaskMessage>>
}

/**
 * Returns the streams to add to the sum of the masked updates so that only the sum of the updates remains: they remove the self
 * mask of each device that delivered, and its masks with devices that left. Every reconstructed secret is compared with what
 * its owner published; conflict names the first device with a mismatch. Cost: (left) x (delivered) agreements and expansions
 * for drop-outs, plus one expansion per delivery.
 */
export const unmaskingStreams = async (
  round: SecureRound,
  received: Received,
  agreement?: KeyAgreement,
): Promise<MaskStream[]> => {
  const { roundId, dealt, delivered, settings } = round
  const responses = Object.entries(received.responses)
    .sort(([a], [b]) => compareIds(a, b))
    .slice(0, settings.threshold)
    .map(([, response]) => response)
  if (responses.length < settings.threshold) {
    throw conflict(`${responses.length} devices revealed their shares; ${settings.threshold} are needed.`)
  }
  const combined = async (name: string, sharesIn: (response: UnmaskMessage) => Readonly<Record<string, string>>) => {
    const shares = responses.map((response) => shareOf(sharesIn(response)[name], name))
    const places = new Set(shares.map((share) => share.at(-1)))
    if (places.size < shares.length) throw wrongShares(name)
    return combineShares(shares)
  }
  const streams: MaskStream[] = []
  for (const name of delivered) {
    const seed = await combined(name, (response) => response.selfMasks)
    if (toHex(seedCommitment(roundId, name, seed)) !== received.shares[name]!.seedCommitment) throw wrongShares(name)
    streams.push({ ...selfMask(roundId, name, seed), sign: -1 })
  }
  for (const name of dealt.filter((device) => !delivered.includes(device))) {
    const secretKey = await combined(name, (response) => response.maskingKeys)
    if (toHex(publicKeyOf(secretKey)) !== received.keys[name]!.maskingKey) throw wrongShares(name)
    for (const peer of delivered) {
      const theirs = fromHex(received.keys[peer]!.maskingKey, KEY_BYTES, `masking_key of '${peer}'`)
      // The peer's vector contains this mask with the opposite sign of ours, so adding ours cancels it.
      streams.push(pairMask(roundId, name, secretKey, peer, theirs, agreement))
    }
  }
  return streams
}

const wrongShares = (device: string) =>
  conflict(
    `The shares of device '${device}' do not reconstruct its secret: a share was changed or computed wrongly. The ` +
      'sum cannot be unmasked; nothing of any update was revealed.',
  )
