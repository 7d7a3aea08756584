import { badRequest, conflict } from '../domain/errors.ts'
import { summedTensors } from '../secure-aggregation/coordinates.ts'
import { advertise, type DevicePart, dealShares, maskInput, revealShares } from '../secure-aggregation/device-part.ts'
import { encodeContribution } from '../secure-aggregation/fixed-point.ts'
import type { ExpandMask } from '../secure-aggregation/mask.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import { secureSettings } from '../secure-aggregation/settings.ts'
import { detectFormat, mayBeDeclaredVector } from '../tensors/detect.ts'
import { readTensorFloats } from '../tensors/elements.ts'
import { fullLayoutOf, requireSameLayout } from '../tensors/layout.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { bytesSource } from '../tensors/sources.ts'
import { elementCount } from '../tensors/weight-file.ts'
import type { CallOptions, Device, SecureCalls, SecureState, Submission, TrainingReport } from './device.ts'
import { requireUpdate } from './require-update.ts'

/** The result of training in a secure round: both complete files, in any container format. */
export interface SecureUpdate {
  readonly global: Uint8Array
  readonly weights: Uint8Array | Blob
  readonly report: TrainingReport
}

/**
 * Where a device stores its state during the round, readable by no one else. Without it, a restarted device leaves the round.
 */
export interface SecureMemory {
  load(): Promise<DevicePart | null>
  save(part: DevicePart): Promise<void>
}

export interface SecureOptions extends CallOptions {
  readonly memory?: SecureMemory
  /** A faster equivalent of `expandMask`. */
  readonly expand?: ExpandMask
  /** Called with a message if coordinates were clipped to the round's range. */
  readonly log?: (message: string) => void
}

const NOWHERE: SecureMemory = { load: async () => null, save: async () => undefined }

/**
 * Takes all of a device's steps in a secure round: keys, shares, training, masked update, and unmasking. The service learns
 * nothing about the update except through the sum. Each step is written to `memory` before it is sent, and a restart continues
 * there. If interrupted during delivery, it leaves the round, because a second delivery under the same masks could reveal the
 * first. Throws conflict if the round has failed or excludes this device, and bad_request if the service's settings, keys or
 * shares cannot be trusted.
 */
export const takeSecurePart = async (
  device: Pick<Device, 'submit' | 'secure'>,
  roundId: string,
  train: () => Promise<SecureUpdate>,
  options: SecureOptions = {},
): Promise<Submission> => {
  const memory = options.memory ?? NOWHERE
  const { secure } = device
  const saved = await memory.load()
  let part: DevicePart | null = saved?.roundId === roundId ? saved : null
  let submission: Submission = { updateId: null, alreadyKept: true }

  const kept = async <P extends DevicePart>(next: P): Promise<P> => {
    await memory.save(next)
    return next
  }

  if (part === null) {
    const { settings, device: name, status, reason } = await secure.state(roundId, options)
    if (status !== 'advertising' || name === null) throw gone(status, reason)
    // Validated again: with a threshold of at most half of the devices, the service could play them off against each other.
    part = await kept(advertise({ roundId, device: name, settings: secureSettings(settings) }))
  }
  if (part.step === 'advertised') {
    await secure.sendKeys(roundId, part.message, options)
    const { roster, status } = await past(secure, roundId, 'advertising', options)
    if (roster === null) throw gone(status, null)
    part = await kept(await dealShares(part, roundId, roster))
  }
  if (part.step === 'shared') {
    await secure.sendShares(roundId, part.message, options)
    const update = requireUpdate(await train())
    const { words } = encode({ ...update, weights: await bytesOf(update.weights) }, part, options)
    const { shares, status } = await past(secure, roundId, 'sharing', options)
    if (shares === null) throw gone(status, null)
    part = await kept(maskInput(part, roundId, shares, words, options.expand))
    const bytes = new Uint8Array(words.buffer)
    submission = await device.submit(roundId, bytes, { numSamples: 1 }, { ...options, fileName: 'masked.bin' })
  } else if (part.step === 'masked') {
    const { status, answered, counted } = await secure.state(roundId, options)
    if (!(status === 'masking' ? answered : counted)) {
      throw conflict('This device was interrupted while submitting its masked update, and leaves the round.')
    }
  }
  if (part.step === 'masked') {
    const { delivered } = await past(secure, roundId, 'masking', options)
    // Enough other devices have answered.
    if (delivered === null) return submission
    part = await kept(revealShares(part, roundId, delivered))
  }
  await secure.sendUnmask(roundId, part.message, options).catch(unlessDone(secure, roundId))
  return submission
}

const bytesOf = async (weights: Uint8Array | Blob): Promise<Uint8Array> =>
  weights instanceof Blob ? new Uint8Array(await weights.arrayBuffer()) : weights

/** An update whose files are in memory. */
type ReadUpdate = SecureUpdate & { readonly weights: Uint8Array }

const encode = (update: ReadUpdate, { settings }: DevicePart, { log }: SecureOptions) => {
  const encoded = encodeContribution(contributionOf(update), settings)
  if (encoded.clipped > 0) {
    const { clipped, words } = encoded
    log?.(
      `${clipped} of ${words.length} weights changed by more than ${settings.range} and were clipped to this limit.`,
    )
  }
  return encoded
}

/** Returns the state once the round is past `status`; throws conflict if it failed or continues without this device. */
const past = async (
  secure: SecureCalls,
  roundId: string,
  status: SecureStatus,
  options: CallOptions,
): Promise<SecureState> => {
  for (;;) {
    const state = await secure.state(roundId, { ...options, while: status })
    if (state.status === 'failed' || (!state.counted && state.status !== 'done')) throw gone(state.status, state.reason)
    if (state.status !== status) return state
    options.signal?.throwIfAborted()
  }
}

/** Not a failure if enough devices have answered in the meantime. */
const unlessDone = (secure: SecureCalls, roundId: string) => async (error: unknown) => {
  if ((await secure.state(roundId).catch(() => null))?.status !== 'done') throw error
}

const gone = (status: SecureStatus, reason: string | null) =>
  conflict(
    status === 'failed'
      ? `The secure round has failed. ${reason ?? ''}`.trim()
      : `The secure round is ${status}, and this device is not part of it.`,
  )

/** Returns the model's change over all its floating-point tensors, in the protocol's order. */
const contributionOf = ({ global, weights, report }: ReadUpdate) => {
  const [before, after] = [bytesSource(global), bytesSource(weights)]
  // The service starts no secure round with a model that it cannot read, so data without a container is a declared vector.
  const model = readWeights(before, { rawVector: true })
  const isVector = model.format === 'raw' && mayBeDeclaredVector(detectFormat(after), after.size)
  const update = readWeights(after, { rawVector: isVector })
  requireSameLayout(fullLayoutOf(model), update)
  const tensors = summedTensors(model.tensors)
  const delta = new Float64Array(tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0))
  let at = 0
  for (const tensor of tensors) {
    const to = readTensorFloats(after, update.tensors.find(({ name }) => name === tensor.name)!)
    const from = readTensorFloats(before, tensor)
    for (let i = 0; i < from.length; i++) {
      const change = to[i]! - from[i]!
      if (!Number.isFinite(change)) {
        throw badRequest(`Tensor '${tensor.name}' of the update is ${to[i]} at element ${i}. Lower the learning rate.`)
      }
      delta[at + i] = change
    }
    at += from.length
  }
  return { delta, numSamples: report.numSamples, loss: report.localLoss, accuracy: report.localAccuracy }
}
