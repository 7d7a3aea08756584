import { anySignal } from '../domain/any-signal.ts'
import type { Platform } from '../domain/device.ts'
import { errorMessage } from '../domain/error-message.ts'
import type { Device } from '../sdk/device.ts'
import { createDevice } from '../sdk/device-client.ts'
import { endedByService, NotNeeded } from '../sdk/not-needed.ts'
import { isTransient, sleep } from '../sdk/retry.ts'
import { type AgentState, lockFolders, openAgentState } from './agent-state.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { TrainerFailed } from './command-trainer.ts'
import type { Measure } from './delivery/activation.ts'
import { type Deliveries, startDeliveries } from './delivery/deliveries.ts'
import type { ModelHook } from './delivery/model-hook.ts'
import { workOnEvaluation } from './evaluation-work.ts'
import { metricsOf } from './heartbeat-metrics.ts'
import { createRenewal, isDeviceUnknown, isKeyRefused, signIn } from './registration.ts'
import { limitRepeats } from './repeated-lines.ts'
import { roundToUnmask } from './round-folder.ts'
import { describeRound, type RoundContext, type RoundResult, workOnRound } from './round-work.ts'
import { withHeartbeats } from './training-heartbeats.ts'

export interface AgentOptions {
  /** For example http://127.0.0.1:8000, without /api/v1. */
  readonly baseUrl: string
  /** The folder for the device's key and its work in progress. */
  readonly stateDir: string
  /** If absent, an id is generated and remembered for this service. */
  readonly deviceId?: string
  readonly platform?: Platform
  readonly capabilities?: Readonly<Record<string, unknown>>
  readonly enrollmentToken?: string
  /** The device's key if it was registered elsewhere. With it, the agent does not register. Requires `deviceId`. */
  readonly apiKey?: string
  /** Called once the device id is known, because it determines which rows the built-in trainer holds out. */
  readonly trainer: (deviceId: string) => AgentTrainer
  /** False for a device that only runs delivered models, which no round selects. Default: true. */
  readonly trains?: boolean
  /** Called for every version that is to run. */
  readonly hook?: ModelHook
  /** The folder for delivered versions, used only by this device. Default: a folder next to the device's key. */
  readonly modelsFolder?: string
  /** The maximum seconds between measurements and reports of the running version. Default 1800. */
  readonly restateSeconds?: number
  /** Seconds between heartbeats. If absent, the service decides. It may answer earlier when a round starts. */
  readonly intervalSeconds?: number
  /** Stops after this many rounds, and at once after a failed one. If absent, runs until aborted. */
  readonly rounds?: number
  /** Stops the agent: a round in progress is reported as failed, with the reason of the abort, and the device as inactive. */
  readonly signal: AbortSignal
  readonly log: (message: string) => void
  readonly onRound?: (result: RoundResult) => void
  readonly now?: () => number
}

/** An agent with a round limit failed in a round. The message names the round and the reason. */
export class RoundFailed extends Error {
  override readonly name = 'RoundFailed'
}

/** The service holds a heartbeat's response for at most 55 s, but proxies often time out after 30. */
const MAX_WAIT_SECONDS = 25
const SIGN_OFF_MS = 3000
const RESTATE_SECONDS = 1800
/** After news the next heartbeat follows soon, because more news may come, but never at once, whatever the service answers. */
const AFTER_NEWS_MS = 500
/** How soon a device whose round has ended asks for the next one: a short step of a secure round may be waiting for it. */
const NEXT_ROUND_SECONDS = 2

/** Measures a delivered version with the trainer; null if it cannot read it. */
const measureWith = ({ evaluate }: AgentTrainer): Measure | null =>
  evaluate === undefined
    ? null
    : async (path) => {
        const found = await evaluate(path).catch(() => null)
        if (found === null) return null
        return { accuracy: found.accuracy, ...(Number.isFinite(found.loss) && { loss: found.loss }) }
      }

/**
 * Runs a device until it is stopped: registers once, sends heartbeats, trains in the rounds that await it, and at the same time
 * runs the assigned model versions. If the service is unreachable, it keeps trying, and then continues with a round that it had
 * not submitted. Resolves when `signal` is aborted or after `rounds` rounds.
 * @throws permanent errors: a folder that another agent uses, a name that is taken, a given key that is refused, and, with
 * `rounds`, RoundFailed
 */
export const runAgent = async (options: AgentOptions): Promise<void> => {
  const state = await openAgentState(options.stateDir, options.baseUrl, options.deviceId ?? null)
  const modelsFolder = options.modelsFolder ?? state.modelsFolder
  const release = await lockFolders([state.folder, modelsFolder])
  await runDevice(options, state, modelsFolder).finally(release)
}

const runDevice = async (options: AgentOptions, state: AgentState, modelsFolder: string): Promise<void> => {
  const { baseUrl, signal, log, rounds, intervalSeconds = 20, now = Date.now } = options
  const { platform, capabilities, enrollmentToken } = options
  const outages = limitRepeats(log)
  const connect = (deviceId: string, apiKey?: string): Device =>
    createDevice({
      ...{ baseUrl, deviceId, log: outages.log, now, directDownloads: true },
      ...(platform && { platform }),
      ...(capabilities && { capabilities }),
      ...(enrollmentToken !== undefined && { enrollmentToken }),
      trains: options.trains ?? true,
      ...(apiKey !== undefined && { apiKey }),
    })
  const registration = { ...options, state, connect }
  const renew = createRenewal(registration)
  let latest: RoundResult | null = null
  let done = 0

  /** Sends a heartbeat. Returns its response, and whether that changed the assignments. */
  const sendHeartbeat = async ({ device, deliveries }: Parts, mayWait: boolean) => {
    const waitSeconds = mayWait ? Math.min(intervalSeconds, MAX_WAIT_SECONDS) : 0
    const requested = { status: 'active', waitSeconds, knownAssignments: deliveries.known(), signal } as const
    const response = await device.heartbeat(metricsOf(latest), requested)
    outages.reset()
    return { response, isNews: deliveries.take(response) }
  }

  /** Returns false if the round may be worth another try, or if the next request will show what is wrong. */
  const trainInRound = async (parts: Parts, roundId: string): Promise<boolean> => {
    const { device, deliveries } = parts
    log(`Round ${roundId} awaits this device.`)
    const context = { ...parts, roundsFolder: state.roundsFolder, now, log }
    try {
      latest = await withHeartbeats({ device, deliveries, roundId, intervalSeconds, signal, log }, (stop) =>
        workOnRound(roundId, { ...context, signal: stop }),
      )
    } catch (error) {
      signal.throwIfAborted()
      const mayContinue = isTransient(error) || isKeyRefused(error) || error instanceof NotNeeded
      if (rounds !== undefined && !mayContinue) {
        throw new RoundFailed(`Round ${roundId} failed: ${summaryOf(error)}`, { cause: error })
      }
      log(`Round ${roundId}: ${summaryOf(error)}`)
      await pause(endedByService(error) ? NEXT_ROUND_SECONDS : intervalSeconds)
      return false
    }
    log(describeRound(latest))
    options.onRound?.(latest)
    return true
  }

  /** Waits for a random time between half of `seconds`, at most an interval, and the whole. */
  const pause = (seconds = intervalSeconds): Promise<void> =>
    sleep(Math.min(seconds, intervalSeconds) * 1000 * (0.5 + Math.random() / 2), signal)

  /** Returns null when done, or a newly registered device to continue with. */
  const serve = async (parts: Parts): Promise<Device | null> => {
    const { device } = parts
    log(`Device ${device.deviceId} is waiting for ${options.trains === false ? 'versions' : 'rounds'} at ${baseUrl}.`)
    while (rounds === undefined || done < rounds) {
      // Monotonic, because the system time may jump.
      const began = performance.now()
      try {
        const unmasked = await roundToUnmask(state.roundsFolder)
        const { response, isNews } = await sendHeartbeat(parts, unmasked === null)
        const { pendingEvaluationId: evaluationId } = response
        const roundId = unmasked ?? response.pendingRoundId
        const work = { ...parts, roundsFolder: state.roundsFolder, now, log, signal }
        if (roundId === null && evaluationId !== null && (await evaluate(evaluationId, work))) continue
        const paced = options.intervalSeconds === undefined ? response.nextHeartbeatSeconds : null
        const rest = paced === null ? Math.max(0, intervalSeconds * 1000 - (performance.now() - began)) : paced * 1000
        if (roundId === null) await sleep(isNews ? Math.min(rest, AFTER_NEWS_MS) : rest, signal)
        else if (await trainInRound(parts, roundId)) done++
      } catch (error) {
        signal.throwIfAborted()
        if (isDeviceUnknown(error) && options.apiKey === undefined) {
          const renewed = await renew(device.deviceId)
          if (renewed !== null) return renewed
        } else if (isTransient(error)) outages.log(errorMessage(error))
        else throw error
        await pause()
      }
    }
    return null
  }

  const signInWhenPossible = async (): Promise<Device> => {
    for (;;) {
      try {
        return await signIn(registration)
      } catch (error) {
        signal.throwIfAborted()
        if (!isTransient(error)) throw error
        outages.log(errorMessage(error))
        await pause()
      }
    }
  }

  const serveWithDeliveries = async (device: Device): Promise<Device | null> => {
    const trainer = options.trainer(device.deviceId)
    const over = new AbortController()
    const apiKey = options.apiKey ?? (await state.load())?.apiKey ?? ''
    const deliveries = await startDeliveries({
      modelsFolder,
      device,
      apiKey,
      log,
      hook: options.hook ?? null,
      measure: measureWith(trainer),
      restateSeconds: options.restateSeconds ?? RESTATE_SECONDS,
      signal: anySignal(signal, over.signal),
    })
    try {
      return await serve({ device, trainer, deliveries })
    } finally {
      over.abort(new Error('The agent is stopping.'))
      await deliveries.ended
    }
  }

  let device: Device | null = null
  const sendInactive = () =>
    device?.heartbeat(undefined, { status: 'inactive', until: now() + SIGN_OFF_MS }).catch(() => undefined)
  try {
    device = await signInWhenPossible()
    for (let next = await serveWithDeliveries(device); next !== null; next = await serveWithDeliveries(device)) {
      device = next
    }
  } catch (error) {
    if (error instanceof RoundFailed) await sendInactive()
    if (!signal.aborted) throw error
    log('Stopping.')
  }
  await sendInactive()
}

/** A connection to the service, and the parts that use it. */
interface Parts {
  readonly device: Device
  readonly trainer: AgentTrainer
  readonly deliveries: Deliveries
}

/** Returns false, after logging the reason, if the model could not be evaluated. */
const evaluate = async (roundId: string, context: RoundContext): Promise<boolean> => {
  try {
    await workOnEvaluation(roundId, context)
    return true
  } catch (error) {
    context.signal.throwIfAborted()
    context.log(`The model of round ${roundId} could not be evaluated: ${summaryOf(error)}`)
    return false
  }
}

/** Omits a trainer's output if it was already shown. */
const summaryOf = (error: unknown): string => (error instanceof TrainerFailed ? error.summary : errorMessage(error))
