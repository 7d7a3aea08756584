import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../../src/client/client.ts'
import type { Device } from '../../src/sdk/device.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { memorySink } from '../../src/sdk/download.ts'
import { isTransient, sleep } from '../../src/sdk/retry.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { localTrainer } from '../../src/sdk/trainers/local-trainer.ts'
import { seededRandom } from '../../src/sdk/trainers/random.ts'
import { syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'
import { count, type Records, violation } from './records.ts'

export const SHAPE = { features: 5, classes: 3 } as const
const REPEATED = 0.2
/** Faults occur more often than agents recover from them by themselves. */
const MAX_WAIT_MS = 1500

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface AgentWork {
  readonly name: string
  readonly device: Device
  readonly random: () => number
  readonly records: Records
  readonly signal: AbortSignal
}

/** Downloads each assigned version, verifies its hash, and reports it; each once. */
const runAssignments = async ({ name, device, records, signal, random }: AgentWork): Promise<void> => {
  for (const given of await device.assignments({ signal })) {
    const { planId, versionNumber, file, version } = given
    const key = `${name} ${planId} ${versionNumber}`
    if (file === null || versionNumber === null || records.given.has(key)) continue
    const sink = memorySink()
    await device.downloadVersion(given, sink, { signal })
    const sha256 = sha256Of(sink.bytes())
    if (sha256 !== file.sha256) violation(records, 'no byte changed', `${key}: ${sha256} instead of ${file.sha256}`)
    records.given.set(key, { device: name, planId, version: versionNumber, sha256 })
    await device.reportAssignment(planId, { state: 'active', version }, { signal })
    if (random() < REPEATED) await device.reportAssignment(planId, { state: 'active', version }, { signal })
    count(records, 'versions delivered')
  }
}

const train = async (work: AgentWork, roundId: string, trainer: ReturnType<typeof localTrainer>): Promise<void> => {
  const { name, device, records, signal, random } = work
  const { weights, report, plan } = await takePart(device, roundId, trainer, { signal, until: Date.now() + 60_000 })
  records.updates.push({ roundId, device: name, sha256: sha256Of(weights) })
  count(records, plan.private ? 'private updates' : 'updates')
  if (random() > REPEATED) return
  // Repeats an acknowledged submission, as if its response had been lost.
  const again = await device.submit(roundId, weights, report, { signal }).catch((error: unknown) => {
    if (isTransient(error) || (error instanceof ApiError && error.status === 409)) return null
    throw error
  })
  if (again !== null && !again.alreadyKept) violation(records, 'one update a device', `${name} twice in ${roundId}`)
}

const runAgent = async (work: AgentWork, trainer: ReturnType<typeof localTrainer>, isDelivered: boolean) => {
  const { device, signal, records, random } = work
  while (!signal.aborted) {
    try {
      const { pendingRoundId } = await device.heartbeat({ battery: random() }, { waitSeconds: 5, signal })
      count(records, 'heartbeats')
      if (pendingRoundId !== null) await train(work, pendingRoundId, trainer)
      else if (isDelivered) await runAssignments(work)
    } catch (error) {
      if (signal.aborted) return
      // A round that ended without this agent, or a service that is down for long: the agent tries again.
      const why = error instanceof ApiError ? `${error.status}` : (error as Error).name
      count(records, `agents met ${why}`)
      if (error instanceof ApiError && [401, 403].includes(error.status)) {
        violation(records, 'no acknowledged write lost', `${work.name}: ${error.message}`)
      }
    }
    await wait(500 + 1000 * random(), undefined, { signal }).catch(() => undefined)
  }
}

/** Runs SDK devices that train and run their assigned versions until the signal; resolves when all have ended. */
export const runAgents = async (options: {
  readonly url: string
  readonly keys: ReadonlyMap<string, string>
  readonly seed: number
  readonly records: Records
  readonly signal: AbortSignal
  /** Whether they are assigned versions. */
  readonly isDelivered: boolean
}): Promise<void> => {
  const { url, keys, seed, records, signal, isDelivered } = options
  const splits = syntheticDevices({ alpha: 0.5, beta: 0.5, devices: keys.size, seed: 3, ...SHAPE, maxRows: 40 })
  await Promise.all(
    [...keys].map(([name, apiKey], index) => {
      const random = seededRandom(seed + index).uniform
      const device = createDevice({
        ...{ baseUrl: url, deviceId: name, apiKey, random },
        sleep: (ms, stop) => sleep(Math.min(ms, MAX_WAIT_MS), stop),
      })
      const trainer = localTrainer(splits[index]!, { deviceId: name })
      return runAgent({ name, device, random, records, signal }, trainer, isDelivered)
    }),
  )
}
