import {
  type Advertised,
  advertise,
  dealShares,
  type Masked,
  maskInput,
  revealShares,
  type Shared,
} from './device-part.ts'
import { encodeContribution } from './fixed-point.ts'
import { addWords } from './mask.ts'
import type { KeysMessage, UnmaskMessage } from './messages.ts'
import {
  checkKeys,
  checkShares,
  checkUnmask,
  closeStep,
  openRound,
  requireTurn,
  type SecureRound,
} from './server-round.ts'
import type { SecureSettings } from './settings.ts'

/** The last message that a device sends before it drops out. */
export type LastStep = 'keys' | 'shares' | 'masked' | 'answer'

/**
 * A cohort of devices that can run rounds with any pattern of drop-outs. The steps are pure and depend only on a device's
 * inputs, so results are cached across patterns.
 */
export const cohortOf = async (names: readonly string[], settings: SecureSettings, coordinates: number) => {
  const roundId = 'round-of-tests'
  const advertised = new Map(names.map((device) => [device, advertise({ roundId, device, settings })]))
  const roster = Object.fromEntries([...advertised].map(([name, part]) => [name, part.message]))
  const received: Record<string, KeysMessage> = {}
  for (const [name, keys] of Object.entries(roster)) {
    requireTurn(openRound(roundId, settings), 'advertising', name, new Set(Object.keys(received)))
    checkKeys(name, keys, received)
    received[name] = keys
  }
  const shared = new Map<string, Shared>()
  for (const [name, part] of advertised) shared.set(name, await dealShares(part, roundId, roster))
  const plain = new Map(
    names.map((name, k) => {
      const delta = Array.from({ length: coordinates }, (_, i) => Math.sin(1 + i * 31 + k * 7) * 9)
      return [name, encodeContribution({ delta, numSamples: 1, loss: k / 4 }, settings).words]
    }),
  )
  const known = new Map<string, { part: Masked; words: Uint32Array }>()

  const masked = (name: string, dealt: readonly string[]) => {
    const id = JSON.stringify([name, dealt])
    const had = known.get(id)
    if (had !== undefined) return had
    const words = plain.get(name)!.slice()
    const made = { part: maskInput(shared.get(name)!, roundId, receivedBy(name, dealt), words), words }
    known.set(id, made)
    return made
  }

  const receivedBy = (name: string, dealt: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      dealt.filter((peer) => peer !== name).map((peer) => [peer, shared.get(peer)!.message.sealed[name]!]),
    )

  const sumOf = (vectors: readonly Uint32Array[]): Uint32Array => {
    const sum = new Uint32Array(plain.get(names[0]!)!.length)
    for (const words of vectors) addWords(sum, words)
    return sum
  }

  /** The service's view of a round in which each device drops out after its last message; all messages are checked. */
  const run = (lastStep: Readonly<Record<string, LastStep>>) => {
    const hasDone = (name: string, step: LastStep) => STEPS.indexOf(lastStep[name]!) >= STEPS.indexOf(step)
    let round: SecureRound = openRound(roundId, settings)
    round = closeStep(round, names)
    const dealt = names.filter((name) => hasDone(name, 'shares'))
    for (const name of dealt) checkShares(round, name, shared.get(name)!.message)
    round = closeStep(round, dealt)
    const shares = Object.fromEntries(dealt.map((name) => [name, shared.get(name)!.message]))
    const responses: Record<string, UnmaskMessage> = {}
    if (round.status === 'failed')
      return { round, messages: { keys: roster, shares, responses }, sum: null, delivered: [] }
    const delivered = dealt.filter((name) => hasDone(name, 'masked'))
    const sum = sumOf(delivered.map((name) => masked(name, round.dealt).words))
    round = closeStep(round, delivered)
    if (round.status === 'failed') return { round, messages: { keys: roster, shares, responses }, sum, delivered }
    for (const name of delivered.filter((device) => hasDone(device, 'answer'))) {
      const { message } = revealShares(masked(name, round.dealt).part, roundId, round.delivered)
      checkUnmask(round, message)
      responses[name] = message
    }
    return {
      round: closeStep(round, Object.keys(responses)),
      messages: { keys: roster, shares, responses },
      sum,
      delivered,
    }
  }

  return {
    roundId,
    names,
    roster,
    run,
    masked,
    receivedBy,
    advertised: (name: string): Advertised => advertised.get(name)!,
    shared: (name: string): Shared => shared.get(name)!,
    plainSum: (of: readonly string[]): Uint32Array => sumOf(of.map((name) => plain.get(name)!)),
    plainWords: (name: string): Uint32Array => plain.get(name)!,
  }
}

const STEPS: readonly LastStep[] = ['keys', 'shares', 'masked', 'answer']

/** Every combination of drop-outs. */
export const patterns = (names: readonly string[]): Record<string, LastStep>[] =>
  names.reduce<Record<string, LastStep>[]>(
    (before, name) => before.flatMap((pattern) => STEPS.map((step) => ({ ...pattern, [name]: step }))),
    [{}],
  )
