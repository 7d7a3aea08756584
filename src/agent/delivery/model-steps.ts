import { sizeWords } from '../../domain/sizes.ts'
import { type Assignment, type DeliveryReport, sameContent } from '../../sdk/assignment.ts'
import type { Device } from '../../sdk/device.ts'
import { type ActivationContext, activate, type Measure, withdraw } from './activation.ts'
import { DeliveryFailed, fetchVersion } from './fetch-version.ts'
import type { ModelHook } from './model-hook.ts'
import {
  describeMetrics,
  emptyState,
  type KeptVersion,
  type ModelState,
  plansUpTo,
  type Refused,
  titleOf,
} from './model-state.ts'
import type { ModelFolder } from './model-store.ts'
import type { ReportOutbox } from './report-outbox.ts'
import type { TimeSlices } from './time-slices.ts'

export interface StepsContext {
  readonly device: Pick<Device, 'downloadVersion'>
  readonly folder: ModelFolder
  readonly downloads: TimeSlices
  readonly outbox: Pick<ReportOutbox, 'add'>
  readonly hook: ModelHook | null
  readonly measure: Measure | null
  readonly log: (message: string) => void
}

/** The operations on one model on this device. Each works from the state on disk, so it may be killed at any point. */
export interface ModelSteps {
  /** Loads the state, unless it is loaded. @throws if it cannot be read now: nothing that it names may be taken for unused */
  load(): Promise<void>
  /** Downloads and activates the requested version as far as necessary. @throws DeliveryFailed, or a transient error */
  ensureActive(requested: Assignment, stop: AbortSignal): Promise<void>
  /** Runs the previous version again, because no plan assigns the model anymore. */
  rollback(stop: AbortSignal): Promise<void>
  /** True if the running version's file is missing, perhaps with its folder. `ensureActive` then downloads it again. */
  isLost(requested: Assignment): Promise<boolean>
  /** Measures again if possible, and reports the running version again, so that comparisons have current metrics. */
  restate(requested: Assignment): Promise<void>
  /** Reports the failure to the service. */
  reportFailure(requested: Assignment, reason: string): Promise<void>
  log(message: string): void
}

const hasContentOf = (version: KeptVersion | null, requested: Assignment): boolean =>
  version !== null && sameContent(version, requested)

const isHere = async (folder: ModelFolder, { file }: Assignment): Promise<boolean> =>
  file === null || (await folder.find(file.sha256, file.sizeBytes)) !== null

/** True if this hook has refused this very assignment. */
const isRefused = (refused: Refused | null, requested: Assignment, hook: ModelHook | null): refused is Refused =>
  refused !== null &&
  refused.planId === requested.planId &&
  refused.version === requested.version &&
  refused.sha256 === (requested.file?.sha256 ?? null) &&
  refused.hook === (hook?.digest ?? '')

/** False also if the hook does not know yet that this version is to run. */
const isRunning = async (
  { current, trying }: ModelState,
  requested: Assignment,
  { folder, hook }: StepsContext,
): Promise<boolean> =>
  trying === null &&
  hasContentOf(current, requested) &&
  !(requested.activate && hook !== null && current?.hooked === false) &&
  (await isHere(folder, requested))

/** Returns the state without the previous version, which is all that can be deleted; null if that frees too few bytes. */
const withoutPrevious = (state: ModelState, requested: Assignment, missing: number): ModelState | null => {
  const { current, previous, trying } = state
  const isNeeded = [current, trying?.version ?? null, requested].some((one) => sameContent(one, previous))
  return isNeeded || (previous?.file?.sizeBytes ?? 0) < missing ? null : { ...state, previous: null }
}

/** The digests of the files that a device needs in this state. */
const neededFiles = ({ current, previous, trying }: ModelState, requested: Assignment | null): ReadonlySet<string> => {
  const files = [current?.file, previous?.file, trying?.version?.file, requested?.file]
  return new Set(files.flatMap((file) => (file ? [file.sha256] : [])))
}

/** What failed, why, and what runs now, if the state is known. */
const failureWords = ({ version }: Assignment, reason: string, state: ModelState | null): string => {
  const sentence = `version ${version} failed: ${/[.!?]$/.test(reason) ? reason : `${reason}.`}`
  if (state === null) return sentence
  return `${sentence} ${state.current === null ? 'No version is running.' : `Version ${state.current.version} keeps running.`}`
}

const nameOf = ({ planId, version }: Assignment, what: DeliveryReport['state']): string =>
  `${planId} ${version} ${what}`

/** @throws DeliveryFailed */
const requireSource = ({ file, modelName }: Assignment, hook: ModelHook | null): void => {
  if (file !== null || hook !== null) return
  throw new DeliveryFailed(
    `The catalog has no model '${modelName}', and this device has no --on-model command that could resolve the name.`,
  )
}

export const createModelSteps = (context: StepsContext): ModelSteps => {
  const { folder, hook, measure, outbox } = context
  let state: ModelState = emptyState(null, null)
  let isLoaded = false
  /** The last report in this run of the agent. After a start, the current state is reported once more. */
  let reported = ''

  const log = (message: string): void => context.log(`${titleOf(state)}: ${message}`)
  const save = async (next: ModelState): Promise<void> => {
    await folder.save(next)
    state = next
  }
  const partsOf = (signal: AbortSignal): ActivationContext => ({ folder, hook, measure, signal, save, log })

  const report = async (requested: Assignment, response: Omit<DeliveryReport, 'version'>): Promise<void> => {
    reported = nameOf(requested, response.state)
    await outbox.add(requested.planId, { ...response, version: requested.version })
  }
  const sayActive = (requested: Assignment): Promise<void> =>
    report(requested, { state: 'active', ...(state.current?.metrics && { metrics: state.current.metrics }) })

  /** A file that cannot be deleted now (on Windows, while it is being read) is deleted the next time. */
  const deleteUnused = (requested: Assignment | null): Promise<void> =>
    folder.deleteUnused(neededFiles(state, requested)).catch(() => undefined)

  /** Adopts an assignment of the version that is already running, perhaps for another plan. */
  const adopt = async (requested: Assignment): Promise<void> => {
    const { planId, version, format } = requested
    const { current } = state
    if (current !== null && (current.planId !== planId || current.version !== version)) {
      await save({ ...state, current: { ...current, planId, version, format }, refused: null })
    }
    if (reported !== nameOf(requested, 'active')) await sayActive(requested)
    await deleteUnused(requested)
  }

  const makeRoom = async (requested: Assignment, missing: number): Promise<void> => {
    const without = withoutPrevious(state, requested, missing)
    if (without !== null) {
      log(`version ${state.previous?.version}, which ran before, was deleted: the disk has no room for a third one.`)
      await save(without)
    }
    await deleteUnused(requested)
  }

  const fetch = async (requested: Assignment, signal: AbortSignal): Promise<KeptVersion> => {
    const { planId, version, format } = requested
    requireSource(requested, hook)
    const size = requested.file?.sizeBytes ?? 0
    const file = await fetchVersion(requested, {
      device: context.device,
      folder,
      turns: context.downloads,
      signal,
      onStart: (received) => {
        const resuming = received > 0 ? `, resuming at ${sizeWords(received)}` : ''
        log(`downloading version ${version}, ${sizeWords(size)}${resuming}.`)
        void report(requested, { state: 'downloading' })
      },
      onVerify: () => void report(requested, { state: 'verifying' }),
      makeRoom: (missing) => makeRoom(requested, missing),
    })
    const known = [state.current, state.previous].find((one) => hasContentOf(one, requested))
    return { planId, version, format, file, metrics: known?.metrics ?? null }
  }

  /** True if its hook has refused this very assignment. That is reported once more, because the report may have been lost. */
  const wasRefused = async (requested: Assignment): Promise<boolean> => {
    const isIt = isRefused(state.refused, requested, hook)
    if (isIt && reported === '') await report(requested, { state: 'failed', reason: state.refused?.reason })
    return isIt
  }

  /** Before the version runs: until then, the running one stays if this plan is withdrawn, and an interrupted download is found. */
  const startPlan = async ({ planId }: Assignment): Promise<void> => {
    if (state.plans.at(-1) === planId) return
    const saved = save({ ...state, plans: plansUpTo(state.plans, planId) })
    // On a full disk, without a version to keep, the version itself says what is missing.
    await (state.current === null ? saved.catch(() => undefined) : saved)
  }

  const load = async (): Promise<void> => {
    if (!isLoaded) state = (await folder.load()) ?? state
    isLoaded = true
  }

  return {
    log,
    load,

    ensureActive: async (requested, stop) => {
      await load()
      state = { ...state, modelId: requested.modelId, modelName: requested.modelName }
      await startPlan(requested)
      if (state.trying === null && (await wasRefused(requested))) return
      if (await isRunning(state, requested, context)) return adopt(requested)
      await deleteUnused(requested)
      const next = await fetch(requested, stop)
      if (requested.activate) {
        await activate(state, next, requested, partsOf(stop))
        log(`version ${next.version} is active${describeMetrics(state.current?.metrics ?? null)}.`)
        await sayActive(requested)
      } else {
        if (state.trying !== null) await withdraw(state, state.current, partsOf(stop))
        if (reported !== nameOf(requested, 'ready')) {
          log(`version ${next.version} is ready and waiting for activation.`)
          await report(requested, { state: 'ready' })
        }
      }
      await deleteUnused(requested)
    },

    rollback: async (stop) => {
      await load()
      const { current, previous, trying, plans } = state
      const isGiven = current !== null && current.planId !== null && current.planId === plans.at(-1)
      if (isGiven || trying !== null) {
        const next = isGiven ? previous : current
        const { current: active } = await withdraw(state, next, partsOf(stop))
        const missing = next === null ? 'there is no previous version' : `the file of version ${next.version} is gone`
        log(active === null ? `withdrawn; ${missing}.` : `rolled back to version ${active.version}.`)
      }
      reported = ''
      await deleteUnused(null)
    },

    isLost: async (requested) => hasContentOf(state.current, requested) && !(await isHere(folder, requested)),

    restate: async (requested) => {
      const { current } = state
      if (current === null || current.planId !== requested.planId || state.trying !== null) return
      const path = folder.pathOf(current)
      const seen = path === null || measure === null ? null : await measure(path)
      if (seen !== null) await save({ ...state, current: { ...current, metrics: { ...current.metrics, ...seen } } })
      await sayActive(requested)
    },

    reportFailure: async (requested, reason) => {
      context.log(`${titleOf(requested)}: ${failureWords(requested, reason, isLoaded ? state : null)}`)
      await report(requested, { state: 'failed', reason })
    },
  }
}
