import {
  advertise,
  dealShares,
  type Masked,
  maskInput,
  revealShares,
  type Shared,
} from '../../src/secure-aggregation/device-part.ts'
import { encodeContribution } from '../../src/secure-aggregation/fixed-point.ts'
import { addMasks, addWords, type ExpandMask, expandMask } from '../../src/secure-aggregation/mask.ts'
import { createPlatformAgreement, platformExpandMask } from '../../src/secure-aggregation/platform-crypto.ts'
import { closeStep, openRound } from '../../src/secure-aggregation/server-round.ts'
import { secureSettings } from '../../src/secure-aggregation/settings.ts'
import { unmaskingStreams } from '../../src/secure-aggregation/unmask.ts'
import { printTable } from './figures.ts'

const DEVICES = 20
const PARAMETERS = 1_000_000
const GONE = [0, 3, 6]
const ROUND = '0b5b1c1e-5a3f-4c55-9d39-4f1f3c9d2a11'

const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
const timed = async <T>(work: () => T | Promise<T>): Promise<[T, number]> => {
  const before = cpu()
  const result = await work()
  return [result, cpu() - before]
}
const bytesOf = (message: unknown) => JSON.stringify(message).length
const seconds = (value: number) => value.toFixed(3)

/** The cost of a round with 20 devices and a million parameters for each side, in CPU time and bytes; without a network. */
export const benchSecureAggregation = async (): Promise<void> => {
  const settings = secureSettings({ devices: DEVICES })
  const names = Array.from({ length: DEVICES }, (_, i) => `device-${String(i).padStart(2, '0')}`)
  const [advertised, advertising] = await timed(() =>
    names.map((device) => advertise({ roundId: ROUND, device, settings })),
  )
  const roster = Object.fromEntries(advertised.map((part) => [part.device, part.message]))
  const [shared, dealing] = await timed(async () => {
    const parts: Shared[] = []
    for (const part of advertised) parts.push(await dealShares(part, ROUND, roster))
    return parts
  })
  const received = (device: string) =>
    Object.fromEntries(shared.flatMap((p) => (p.device === device ? [] : [[p.device, p.message.sealed[device]!]])))
  const delta = Float32Array.from({ length: PARAMETERS }, (_, i) => Math.sin(i) / 10)
  const [{ words: plain }, encoding] = await timed(() => encodeContribution({ delta, numSamples: 1 }, settings))

  const maskWith = (expand: ExpandMask) =>
    timed(() => {
      const sum = new Uint32Array(plain.length)
      const vectors: Uint32Array[] = []
      const parts = shared.map((part): Masked => {
        const words = plain.slice()
        vectors.push(words)
        return maskInput(part, ROUND, received(part.device), words, expand)
      })
      return { parts, vectors, sum }
    })
  const [portable, portableMasking] = await maskWith(expandMask)
  const [, platformMasking] = await maskWith(platformExpandMask)

  const rows: string[][] = []
  for (const gone of GONE) {
    const delivered = names.slice(gone)
    const round = closeStep(closeStep(closeStep(openRound(ROUND, settings), names), names), delivered)
    const [responses, answering] = await timed(() =>
      Object.fromEntries(
        portable.parts
          .filter(({ device }) => delivered.includes(device))
          .map((part) => [part.device, revealShares(part, ROUND, delivered).message]),
      ),
    )
    const [sum, summing] = await timed(() => {
      const total = new Uint32Array(plain.length)
      for (const words of portable.vectors.slice(gone)) addWords(total, words)
      return total
    })
    const messages = {
      keys: roster,
      shares: Object.fromEntries(shared.map((p) => [p.device, p.message])),
      responses,
    }
    const [streams, combining] = await timed(() => unmaskingStreams(round, messages, createPlatformAgreement()))
    const other = sum.slice()
    const [, unmasking] = await timed(() => addMasks(sum, streams, 0, platformExpandMask))
    const [, portableUnmasking] = await timed(() => addMasks(other, streams))
    const expected = plain.map((word) => Math.imul(word, delivered.length))
    if (!sum.every((word, i) => word === expected[i] && word === other[i])) throw new Error('The sum is not the sum.')
    const device = (masking: number) =>
      seconds((advertising + dealing + masking) / DEVICES + encoding + answering / delivered.length)
    const up =
      bytesOf(roster[names[0]!]) + bytesOf(shared[0]!.message) + plain.length * 4 + bytesOf(Object.values(responses)[0])
    const down = bytesOf(roster) + bytesOf(received(names[0]!)) + bytesOf(delivered)
    rows.push([
      String(gone),
      device(platformMasking),
      device(portableMasking),
      seconds(summing + combining + unmasking),
      seconds(summing + combining + portableUnmasking),
      `${up - PARAMETERS * 4} B`,
      `${down} B`,
      `${(((up + down) / (PARAMETERS * 4) - 1) * 100).toFixed(2)}%`,
    ])
  }
  printTable(
    [
      'drop-outs',
      'device CPU s',
      'in a browser',
      'server CPU s',
      'without OpenSSL',
      'up, over plain',
      'down',
      'in all',
    ],
    rows,
  )
}
