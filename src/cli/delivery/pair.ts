import { type Identity, lockFolders, openAgentState } from '../../agent/agent-state.ts'
import { startDeliveries } from '../../agent/delivery/deliveries.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { shellWord } from '../../domain/shell-word.ts'
import type { DeliveryReport } from '../../sdk/assignment.ts'
import { createDevice } from '../../sdk/device-client.ts'
import { type Claim, claimCode } from '../agent/claim.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'

const WAIT_SECONDS = 20
const RESTATE_SECONDS = 3600
/** Longer than the service's limit for this deployment, which is 15 minutes; it then fails. */
const TIMEOUT_MS = 16 * 60 * 1000

/** The device's side of a pairing: claims the code, stores the key, and downloads the model. @throws Failure */
export const pair = async (options: Claim, session: Session): Promise<void> => {
  const { io, out } = session
  // Locked before the code is used, because a running agent writes to the same folders.
  const state = await openAgentState(session.home.folder, options.baseUrl, options.deviceId)
  const release = await lockFolders([state.folder, state.modelsFolder], 'pair as another device (--device-id)')
  try {
    const { claimed, identity } = await claimCode(options, session)
    out.line(`Paired as ${identity.deviceId}.`)
    if (claimed.status === 'failed') throw new Failure(`No model is deployed to it: ${claimed.reason}`)
    if (claimed.deployment_id !== null) {
      await receive(claimed.deployment_id, identity, state.modelsFolder, options, session, io.signal)
    }
  } finally {
    await release()
  }
  const named = options.deviceId === null ? '' : ` --device-id ${shellWord(options.deviceId)}`
  out.note(`To keep it up to date, keep this running: svc agent${named}`)
}

const isOutcome = (report: DeliveryReport | null): boolean => report?.state === 'active' || report?.state === 'failed'

/** Applies assignments until the pairing's deployment is active or failed on this device. */
const receive = async (
  planId: string,
  { deviceId, apiKey }: Identity,
  modelsFolder: string,
  { baseUrl, platform }: Claim,
  { out }: Session,
  signal: AbortSignal,
): Promise<void> => {
  signal.addEventListener(
    'abort',
    () => out.note('This machine stays paired; svc agent downloads its assigned version.'),
    {
      once: true,
    },
  )
  const device = createDevice({ baseUrl, deviceId, apiKey, platform })
  const done = new AbortController()
  const stop = anySignal(signal, done.signal)
  let last: DeliveryReport | null = null
  const deliveries = await startDeliveries({
    modelsFolder,
    apiKey,
    hook: null,
    measure: null,
    restateSeconds: RESTATE_SECONDS,
    signal: stop,
    log: out.line,
    device: {
      downloadVersion: device.downloadVersion,
      reportedPlans: device.reportedPlans,
      reportAssignment: async (plan, report, options) => {
        if (plan === planId) last = report
        const response = await device.reportAssignment(plan, report, options)
        if (plan === planId && isOutcome(report)) done.abort(new Error('done'))
        return response
      },
    },
  })
  const since = performance.now()
  // Another process of the service may answer the first request before it knows of the deployment.
  let [isFirst, isAssigned] = [true, false]
  try {
    while (!stop.aborted) {
      if (performance.now() - since > TIMEOUT_MS) throw new Failure('The model did not arrive in time.')
      const requested = { knownAssignments: deliveries.known(), waitSeconds: WAIT_SECONDS, signal: stop }
      const response = await device.heartbeat({}, requested)
      isAssigned = response.assignments?.some((assignment) => assignment.planId === planId) ?? isAssigned
      // After its outcome, the deployment may end before the response to the report arrives.
      if (!isFirst && !isAssigned && !isOutcome(last)) {
        throw new Failure('The model was not delivered: its deployment was withdrawn, or replaced by a newer one.')
      }
      isFirst = false
      deliveries.take(response)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!done.signal.aborted) throw error
  } finally {
    done.abort(new Error('done'))
    await deliveries.ended
  }
  signal.throwIfAborted()
  const report = last as DeliveryReport | null
  if (report?.state === 'failed') throw new Failure(`The model could not be used: ${report.reason}`)
}
