import type { Platform } from '../domain/device.ts'
import type { Device } from '../sdk/device.ts'
import { createDevice } from '../sdk/device-client.ts'
import { isPassing, sleep } from '../sdk/retry.ts'
import { type AgentState, lockFolders, openAgentState } from './agent-state.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { TrainerFailed } from './command-trainer.ts'
import type { Measure } from './delivery/activation.ts'
import { type Deliveries, keepWithoutPlans, startDeliveries } from './delivery/deliveries.ts'
import type { ModelHook } from './delivery/model-hook.ts'
import { beatWhile } from './heartbeats.ts'
import { createRenewal, isKeyRefused, signIn } from './registration.ts'
import { describeRound, type RoundContext, type RoundResult, workOnEvaluation, workOnRound } from './round-work.ts'
import { systemMetrics } from './system-metrics.ts'

export interface AgentOptions {
  /** Such as http://127.0.0.1:8000, without /api/v1. */
  readonly baseUrl: string
  /** Where the device's key and its work in progress are kept. */
  readonly stateDir: string
  /** One is invented, and remembered for this service, when absent. */
  readonly deviceId?: string
  readonly platform?: Platform
  readonly capabilities?: Readonly<Record<string, unknown>>
  readonly enrollmentToken?: string
  /** A device's key from an earlier registration elsewhere; with it the agent does not register. Needs `deviceId`. */
  readonly apiKey?: string
  /** Made once the device has its name, because the built-in trainer holds rows out by it. */
  readonly trainer: (deviceId: string) => AgentTrainer
  /** False for a device that only runs what is delivered: no round selects it. Default: true. */
  readonly trains?: boolean
  /** Told of every version that is to run. */
  readonly hook?: ModelHook
  /** Where delivered versions are kept, for this device alone. Default: a folder beside the device's key. */
  readonly modelsFolder?: string
  /** How often what runs is measured and said again. Default 1800. */
  readonly restateSeconds?: number
  /** Between heartbeats; as the service says when absent. The service may answer earlier, when a round begins. */
  readonly intervalSeconds?: number
  /** Stops after so many rounds taken part in, and at once after one that failed; runs until aborted when absent. */
  readonly rounds?: number
  /** Ends the agent: the round in work is reported as failed, with the reason of the abort, and the device as inactive. */
  readonly signal: AbortSignal
  readonly log: (message: string) => void
  readonly onRound?: (result: RoundResult) => void
  readonly now?: () => number
}

/** An agent that was to take part in a number of rounds could not do its part in one. The message says in which, and why. */
export class RoundFailed extends Error {
  override readonly name = 'RoundFailed'
}

/** The service holds a heartbeat's answer at most 55 s; proxies often cut at 30. */
const MAX_WAIT_SECONDS = 25
const GOODBYE_MS = 3000
const RESTATE_SECONDS = 1800
/** After news the next heartbeat comes soon, because more may follow; never at once, whatever the service answers. */
const AFTER_NEWS_MS = 500

const metricsOf = (latest: RoundResult | null) => ({
  ...systemMetrics(),
  ...(latest?.globalModel && {
    round_number: latest.plan.roundNumber,
    global_model_loss: latest.globalModel.loss,
    global_model_accuracy: latest.globalModel.accuracy,
  }),
})

/** What a trainer can tell of a delivered version; nothing where it cannot read it. */
const measureWith = ({ evaluate }: AgentTrainer): Measure | null =>
  evaluate === undefined
    ? null
    : async (path) => {
        const found = await evaluate(path).catch(() => null)
        if (found === null) return null
        return { accuracy: found.accuracy, ...(Number.isFinite(found.loss) && { loss: found.loss }) }
      }

/**
 * Runs a device until it is told to stop: registers once, sends heartbeats, takes part in the rounds that await it, and
 * beside all that runs the model versions that it is given.
 * Outlives a service that is away: it keeps trying, and goes on with a round that it had not submitted. Resolves when
 * stopped by `signal` or after `rounds` rounds. Throws what no waiting can mend: a folder that another agent writes to, a name
 * that is taken, a given key that is refused, and, where `rounds` are counted, RoundFailed.
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
  const connect = (deviceId: string, apiKey?: string): Device =>
    createDevice({
      ...{ baseUrl, deviceId, log, now, directDownloads: true },
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

  /** The round that awaits us, if any, and whether there was something new to run. */
  const beat = async (device: Device, deliveries: Deliveries) => {
    const waitSeconds = Math.min(intervalSeconds, MAX_WAIT_SECONDS)
    const requested = { status: 'active', waitSeconds, knownAssignments: deliveries.known(), signal } as const
    const answer = await device.heartbeat(metricsOf(latest), requested)
    return { answer, isNews: deliveries.take(answer) }
  }

  /** False when the round may be worth another try, or when whoever asks next for a round learns what is wrong. */
  const takePart = async (parts: Parts, roundId: string): Promise<boolean> => {
    const { device, deliveries } = parts
    log(`Round ${roundId} awaits this device.`)
    const context = { ...parts, roundsFolder: state.roundsFolder, now, log }
    try {
      latest = await beatWhile({ device, deliveries, roundId, intervalSeconds, signal, log }, (stop) =>
        workOnRound(roundId, { ...context, signal: stop }),
      )
    } catch (error) {
      signal.throwIfAborted()
      if (rounds !== undefined && !isPassing(error) && !isKeyRefused(error)) {
        throw new RoundFailed(`Round ${roundId} failed: ${summaryOf(error)}`, { cause: error })
      }
      log(`Round ${roundId}: ${summaryOf(error)}`)
      return false
    }
    log(describeRound(latest))
    options.onRound?.(latest)
    return true
  }

  /** A device that stays away for a while: half an interval to a whole one, left to chance. */
  const pause = (): Promise<void> => sleep(intervalSeconds * 1000 * (0.5 + Math.random() / 2), signal)

  /** Null when done; else the device as it was registered anew, which goes on. */
  const serve = async (parts: Parts): Promise<Device | null> => {
    const { device, deliveries } = parts
    log(`Device ${device.deviceId} waits for rounds at ${baseUrl}.`)
    while (rounds === undefined || done < rounds) {
      // Not by the date, which may jump.
      const began = performance.now()
      try {
        const { answer, isNews } = await beat(device, deliveries)
        const { pendingRoundId: roundId, pendingEvaluationId: evaluationId } = answer
        const work = { ...parts, roundsFolder: state.roundsFolder, now, log, signal }
        if (roundId === null && evaluationId !== null && (await evaluate(evaluationId, work))) continue
        const paced = options.intervalSeconds === undefined ? answer.nextHeartbeatSeconds : null
        const rest = paced === null ? Math.max(0, intervalSeconds * 1000 - (performance.now() - began)) : paced * 1000
        if (roundId === null) await sleep(isNews ? Math.min(rest, AFTER_NEWS_MS) : rest, signal)
        else if (await takePart(parts, roundId)) done++
        else await pause()
      } catch (error) {
        signal.throwIfAborted()
        if (isKeyRefused(error) && options.apiKey === undefined) {
          const renewed = await renew(device.deviceId)
          if (renewed !== null) return renewed
        } else if (isPassing(error)) log(messageOf(error))
        else throw error
        await pause()
      }
    }
    return null
  }

  const serveWithDeliveries = async (device: Device): Promise<Device | null> => {
    const trainer = options.trainer(device.deviceId)
    const over = new AbortController()
    const deliveries = await startDeliveries({
      modelsFolder,
      device,
      hook: options.hook ?? null,
      measure: measureWith(trainer),
      restateSeconds: options.restateSeconds ?? RESTATE_SECONDS,
      signal: AbortSignal.any([signal, over.signal]),
      log,
    })
    try {
      return await serve({ device, trainer, deliveries })
    } finally {
      over.abort(new Error('The agent is stopping.'))
      await deliveries.ended
    }
  }

  const signInWhenPossible = async (): Promise<Device> => {
    for (;;) {
      try {
        return await signIn(registration)
      } catch (error) {
        signal.throwIfAborted()
        if (!isPassing(error)) throw error
        log(messageOf(error))
        await pause()
      }
    }
  }

  let device: Device | null = null
  const goodbye = () =>
    device?.heartbeat(undefined, { status: 'inactive', until: now() + GOODBYE_MS }).catch(() => undefined)
  try {
    device = await signInWhenPossible()
    for (let next = await serveWithDeliveries(device); next !== null; next = await serveWithDeliveries(device)) {
      device = next
      // A service that lets the name register again was set up anew, and knows none of the old plans.
      await keepWithoutPlans(modelsFolder)
    }
  } catch (error) {
    if (error instanceof RoundFailed) await goodbye()
    if (!signal.aborted) throw error
    log('Stopping.')
  }
  await goodbye()
}

/** One connection to the service, and what works through it. */
interface Parts {
  readonly device: Device
  readonly trainer: AgentTrainer
  readonly deliveries: Deliveries
}

/** False, after a line of why, where the model could not be evaluated. */
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

/** What a trainer printed is not printed again where it was shown as it came. */
const summaryOf = (error: unknown): string => (error instanceof TrainerFailed ? error.summary : messageOf(error))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
