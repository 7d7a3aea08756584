import { isLoopback } from '../../domain/loopback.ts'
import type { PairingStatus } from '../../domain/pairing.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { waitForNextPoll, withRetries } from '../polling.ts'
import { parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'

const POLL_MS = 1500
const CONTINUATION = 'The code stays valid until it is used, for at most five minutes.'

export interface PhoneOptions {
  readonly name: string
  readonly version: string
  readonly platform: 'ios' | 'android' | undefined
  readonly json: boolean
  /** Given with --api-base: the phone uses it, too. */
  readonly apiBase: string | undefined
}

const ON_THE_WAY: readonly PairingStatus[] = ['waiting', 'paired', 'deploying']

/** The statuses passed since the last poll: a small model may arrive between two polls. */
const passedBetween = (
  before: PairingStatus,
  now: { readonly status: PairingStatus; readonly deployment_id: string | null },
): readonly PairingStatus[] => {
  if (now.status === 'expired') return []
  const way = now.deployment_id === null ? ON_THE_WAY.slice(0, 2) : ON_THE_WAY
  const end = way.indexOf(now.status)
  return way.slice(way.indexOf(before) + 1, end < 0 ? undefined : end)
}

/** Shows a pairing code for a phone, then the progress of the delivery. @throws Failure if it expires or fails */
export const deployToPhone = async (connection: Connection, options: PhoneOptions, session: Session): Promise<void> => {
  const { io, out } = session
  const { name, version, platform, apiBase } = options
  const made = await connection.request((client) =>
    client.POST('/api/v1/pairings', {
      body: { model_name: name, model_version: version, ...(platform !== undefined && { platform }) },
    }),
  )
  const { SERVICE_DASHBOARD_URL: dashboard } = io.env
  const base = dashboard
    ? parseApiBase(dashboard, 'SERVICE_DASHBOARD_URL')
    : ((apiBase === undefined ? made.service_url : null) ?? connection.baseUrl)
  const address = `${base}/pair?code=${made.code}`
  const { renderUnicodeCompact } = await import('uqr')
  out.note(`${renderUnicodeCompact(address, { border: 2 })}\n`)
  out.note(`Scan it with the phone, or open ${address}`)
  if (isLoopback(new URL(base).hostname)) {
    out.note('A phone cannot reach this address: start the service with SERVICE_HOST=0.0.0.0, and give --api-base the')
    out.note('address that this machine has on your network.')
  }
  out.note(`On another computer, run: svc pair ${made.code}. The code works once, for five minutes.`)

  const { code, service_url: _, ...first } = made
  const say = ({ status, reason, device_id: device, device_state: state }: typeof first): void => {
    if (options.json) return
    const words = status === 'deploying' && state !== null ? `${status} (${state})` : status
    out.line(words + (device === null ? '' : ` ${device}`) + (reason === null ? '' : `: ${reason}`))
  }
  if (!options.json) out.line(`Code: ${code}`)
  let pairing = first
  say(pairing)
  while (!['active', 'expired', 'failed'].includes(pairing.status)) {
    await waitForNextPoll(session, POLL_MS, CONTINUATION)
    const params = { path: { pairing_id: pairing.pairing_id } }
    const poll = () => connection.request((client) => client.GET('/api/v1/pairings/{pairing_id}', { params }))
    const now = await withRetries(session, poll, CONTINUATION)
    for (const status of passedBetween(pairing.status, now)) say({ ...now, status, reason: null, device_state: null })
    if (now.status !== pairing.status || now.device_state !== pairing.device_state) say(now)
    pairing = now
  }
  if (options.json) out.json(pairing)
  if (pairing.status === 'expired')
    throw new Failure(pairing.reason ?? 'The code has expired.', { advice: 'Start again.' })
  if (pairing.status === 'failed') throw new Failure(`${name} did not reach the phone: ${pairing.reason}`)
}
