import { hostname } from 'node:os'
import { ApiError, unwrap } from '../../client/client.ts'
import { otherProgram, toFailure } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Credentials } from '../home.ts'
import { waitForNextPoll, withRetries } from '../polling.ts'
import type { Session } from '../session.ts'
import { saveCredentials } from './save-credentials.ts'

/** RFC 8628, section 3.5: added to the polling interval after `slow_down`. */
const SLOW_DOWN_SECONDS = 5

const clientName = (): string => `svc on ${hostname()}`.replace(/[^ -~]/g, '?').slice(0, 100)

const ENDS: Readonly<Record<string, string>> = {
  expired_token: 'Nobody approved the sign-in in time.',
  access_denied: 'The sign-in was denied.',
}

const lostKey = (cause: ApiError): Failure =>
  new Failure('The sign-in may have been approved, but the response with its key was lost.', {
    advice: `If svc keys list shows an unused key '${clientName()}', revoke it. Start again with: svc login --no-browser`,
    cause,
  })

/** Signs in without a local browser by device authorization (RFC 8628): the code can be approved on any device. */
export const loginWithCode = async (session: Session, apiBase: string): Promise<Credentials> => {
  const { out } = session
  const connection = session.connectTo({ baseUrl: apiBase, warn: out.warn })
  const started = await connection.request((client) =>
    client.POST('/api/v1/login/device', { body: { client_name: clientName() } }),
  )
  if (started.device_code === undefined) throw otherProgram(apiBase)
  const { renderUnicodeCompact } = await import('uqr')
  out.note(`${renderUnicodeCompact(started.verification_uri_complete, { border: 2 })}\n`)
  out.note(`Open ${started.verification_uri} in any browser, and enter the code:\n\n  ${started.user_code}\n`)
  out.note(`The code works once, for ${started.expires_in / 60} minutes. Do not share it.`)

  let interval = started.interval
  // The code gives the key once: after a lost response, `expired_token` may mean that the key was in it.
  let isResponseLost = false
  const exchange = async (device_code: string) => {
    try {
      return await unwrap(connection.client.POST('/api/v1/login/device/token', { body: { device_code } }))
    } catch (error) {
      isResponseLost ||= !(error instanceof ApiError && error.code !== null)
      throw error
    }
  }
  for (;;) {
    await waitForNextPoll(session, interval * 1000, 'Nothing was stored.')
    try {
      const token = await withRetries(session, () => exchange(started.device_code), 'Nothing was stored.')
      return await saveCredentials(session, apiBase, token)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isPending = error.code === 'authorization_pending' || error.code === 'slow_down'
      if (error.code === 'slow_down') interval += SLOW_DOWN_SECONDS
      if (isPending) isResponseLost = false
      else {
        if (error.code === 'expired_token' && isResponseLost) throw lostKey(error)
        const end = ENDS[error.code ?? '']
        if (end === undefined) throw toFailure(error, { baseUrl: apiBase, keySource: undefined })
        throw new Failure(end, { advice: 'Start again with: svc login --no-browser', cause: error })
      }
    }
  }
}
