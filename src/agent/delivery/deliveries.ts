import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../../client/client.ts'
import { errorMessage } from '../../domain/error-message.ts'
import { writeDurably } from '../../platform/files/durable-file.ts'
import { nullIfMissing } from '../../platform/files/missing-file.ts'
import type { Assignment } from '../../sdk/assignment.ts'
import type { Device } from '../../sdk/device.ts'
import { isTransient } from '../../sdk/retry.ts'
import type { HeartbeatResponse } from '../../sdk/wire.ts'
import { untilPossible } from '../disk-fault.ts'
import type { Measure } from './activation.ts'
import type { ModelHook } from './model-hook.ts'
import { folderOf } from './model-state.ts'
import { createModelSteps } from './model-steps.ts'
import { type ModelStore, openModelStore } from './model-store.ts'
import { type ModelWorker, startModelWorker } from './model-worker.ts'
import { openOutbox, type ReportOutbox } from './report-outbox.ts'
import { createTimeSlices } from './time-slices.ts'

/** The part of the heartbeats that concerns assignments. */
export interface Deliveries {
  /** Returns the tag of the known assignments; empty before the first ones. */
  known(): string
  /** Takes the assignments in a heartbeat's response, and works on them in the background. Returns true if they changed. */
  take(response: Pick<HeartbeatResponse, 'assignments' | 'assignmentsTag'>): boolean
  /** Resolves when everything has stopped after the signal. */
  readonly ended: Promise<unknown>
}

export interface DeliveriesOptions {
  /** Created if missing; used only by this device. */
  readonly modelsFolder: string
  readonly device: Pick<Device, 'downloadVersion' | 'reportAssignment' | 'reportedPlans'>
  /** The device's key, which identifies the device: a digest of it is stored in the folder. */
  readonly apiKey: string
  readonly hook: ModelHook | null
  readonly measure: Measure | null
  readonly restateSeconds: number
  /** How long one model's download may make others wait. Default 30. */
  readonly turnSeconds?: number
  readonly signal: AbortSignal
  readonly log: (message: string) => void
}

interface Identity extends Pick<DeliveriesOptions, 'apiKey' | 'device' | 'signal'> {
  readonly outbox: Pick<ReportOutbox, 'sendWaiting'>
}

/** Returns the plans that this device has reported on to this service; null if it refuses the key, which may be replaced. */
const plansKnownTo = async ({ device, signal }: Identity): Promise<ReadonlySet<string> | null> => {
  try {
    return new Set(await device.reportedPlans({ signal }))
  } catch (error) {
    signal.throwIfAborted()
    if (isTransient(error) || !(error instanceof ApiError)) throw error
    return error.status === 401 ? null : new Set()
  }
}

/**
 * Keeps the running versions without their plans if another device, perhaps of another service, got them. A new key alone does
 * not make it another device: then the service knows its reports on these plans, or accepts those that are waiting.
 */
const takeOver = async (store: ModelStore, identity: Identity): Promise<void> => {
  const path = join(store.root, 'device')
  const digest = createHash('sha256').update(identity.apiKey).digest('hex').slice(0, 16)
  const before = await nullIfMissing(readFile(path, 'utf8'))
  if (before === digest) return
  let known: ReadonlySet<string> | null = null
  for (const name of before === null ? [] : await store.names()) {
    const folder = store.folder(name)
    const state = await folder.load().catch(() => null)
    const planId = state?.current?.planId ?? null
    if (state === null || state.current === null || planId === null) continue
    known ??= await plansKnownTo(identity)
    if (known === null) return
    if (known.has(planId) || (await identity.outbox.sendWaiting(planId, identity.signal))) continue
    await folder.save({ ...state, current: { ...state.current, planId: null }, refused: null })
  }
  // On a full disk, this is repeated at the next start.
  await writeDurably(path, digest).catch(() => undefined)
}

/** Applies a device's assignments: one worker per model, one download at a time, and reports that survive a crash. */
export const startDeliveries = async (options: DeliveriesOptions): Promise<Deliveries> => {
  const { modelsFolder, device, hook, measure, restateSeconds, turnSeconds = 30, signal } = options
  // Names and reasons come from outside, so control characters are removed for terminals.
  const log = (message: string): void => options.log(message.replace(/\p{Cc}+/gu, ' '))
  setMaxListeners(0, signal)
  const store = await openModelStore(modelsFolder)
  const downloads = createTimeSlices(turnSeconds * 1000)
  const outbox = await openOutbox({
    path: join(modelsFolder, 'reports.json'),
    send: (planId, report, stop) => device.reportAssignment(planId, report, { signal: stop }),
    log,
  })
  const workers = new Map<string, ModelWorker>()
  const workerOf = (name: string): ModelWorker => {
    const running = workers.get(name)
    if (running !== undefined) return running
    const steps = createModelSteps({ device, folder: store.folder(name), downloads, outbox, hook, measure, log })
    const worker = startModelWorker({ steps, restateSeconds, signal, onDone: () => workers.delete(name) })
    workers.set(name, worker)
    return worker
  }
  let given: ReadonlyMap<string, Assignment> | null = null
  const apply = (assignments: ReadonlyMap<string, Assignment>): void => {
    for (const [name, worker] of workers) if (!assignments.has(name)) worker.want(null)
    for (const [name, assignment] of assignments) workerOf(name).want(assignment)
  }
  let isOpen = false
  const open = async (): Promise<void> => {
    await takeOver(store, { ...options, outbox })
    // Includes models of earlier runs: one may have been withdrawn while this device was offline.
    for (const name of await store.names()) workerOf(name)
    isOpen = true
    if (given !== null) apply(given)
  }
  const notDone = `${modelsFolder} could not be prepared for this device`
  let opening = Promise.resolve()
  // Until then, for example on a full disk, the versions stay as they are, while heartbeats and training continue.
  await new Promise<void>((tried) => {
    opening = untilPossible(() => open().finally(tried), notDone, signal, log).catch((error: unknown) => {
      if (!signal.aborted) log(errorMessage(error))
    })
  })
  const sending = outbox.run(signal)
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

  let tag = ''
  return {
    known: () => tag,

    take: ({ assignments, assignmentsTag }) => {
      if (assignments === null) return false
      const isNews = assignmentsTag !== tag
      tag = assignmentsTag ?? ''
      given = new Map(assignments.map((one) => [folderOf(one), one]))
      if (isOpen) apply(given)
      return isNews
    },

    ended: stopped
      .then(() => opening)
      .then(() => Promise.all([sending, ...[...workers.values()].map(({ ended }) => ended)])),
  }
}
