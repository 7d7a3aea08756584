import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { anySignal } from '../../domain/any-signal.ts'
import { Failure } from '../failure.ts'
import type { Credentials } from '../home.ts'
import { parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'
import { openCallback } from './callback-server.ts'
import { hasDisplay, openBrowser } from './open-browser.ts'
import { saveCredentials } from './save-credentials.ts'

const DEADLINE_MS = 5 * 60 * 1000

/** Returns the promise's value. Rejects after the deadline, or with the signal's reason. */
const within = async <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const settled = new AbortController()
  const late = sleep(DEADLINE_MS, undefined, { signal: anySignal(signal, settled.signal) }).then(() => {
    const advice = 'Start again with: svc login. Without a browser: svc login --no-browser'
    throw new Failure('Nobody approved the sign-in within 5 minutes.', { advice })
  })
  try {
    return await Promise.race([promise, late])
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    settled.abort()
  }
}

/**
 * Signs in through the browser: authorization code with PKCE (RFC 7636, S256) over a loopback callback (RFC 8252). The browser
 * carries only a one-time code, which is worthless without the verifier; the verifier is sent only to the service.
 */
export const loginWithBrowser = async (session: Session, apiBase: string): Promise<Credentials> => {
  const { io, out } = session
  const connection = session.connectTo({ baseUrl: apiBase, warn: out.warn })
  await connection.request((client) => client.GET('/api/v1/health'))

  const state = randomBytes(32).toString('base64url')
  const verifier = randomBytes(32).toString('base64url')
  const callback = await openCallback(state)
  let outcome: 'signed-in' | 'failed' = 'failed'
  try {
    const dashboard = io.env.SERVICE_DASHBOARD_URL
    const page = new URL(`${dashboard ? parseApiBase(dashboard, 'SERVICE_DASHBOARD_URL') : apiBase}/login`)
    page.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'))
    page.searchParams.set('redirect_uri', callback.redirectUri)
    page.searchParams.set('state', state)
    out.note(`Approve the sign-in in your browser. If no browser opens, go to:\n\n  ${page.href}\n`)
    if (io.openBrowser === undefined && !hasDisplay())
      out.note('No browser on this machine? Press Ctrl-C, and run: svc login --no-browser\n')
    const show = io.openBrowser ?? openBrowser
    show(page.href)
    const code = await within(callback.code, io.signal)
    const token = await connection.request((client) =>
      client.POST('/api/v1/login/token', { body: { code, code_verifier: verifier } }),
    )
    const credentials = await saveCredentials(session, apiBase, token)
    outcome = 'signed-in'
    return credentials
  } finally {
    await callback.finish(outcome)
  }
}
