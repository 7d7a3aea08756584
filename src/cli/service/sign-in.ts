import { createHash, randomBytes } from 'node:crypto'
import { connect } from '../connection.ts'
import type { Session } from '../session.ts'

/** Stores a key for this machine's own service, unless there already is one. */
export const keepKey = async ({ home, out }: Session, apiBase: string, apiKey: string): Promise<void> => {
  if ((await home.credentials(apiBase)) !== null) return
  await home.saveCredentials({ apiKey, orgId: null, apiBase })
  out.note(`svc is signed in to ${apiBase}; the key is in ${home.credentialsPath}.`)
}

/** True if the stored key is still valid: the data folder may have changed. */
const isSignedIn = async ({ home, io }: Session, apiBase: string): Promise<boolean> => {
  const kept = await home.credentials(apiBase)
  if (kept === null) return false
  const { client } = connect({ baseUrl: apiBase, apiKey: kept.apiKey, signal: io.signal })
  return (await client.GET('/api/v1/keys/self')).response.status !== 401
}

/**
 * Signs `svc` in to a service that needs no approval (open enrollment on this machine), by the same exchange as `svc login`,
 * but without a browser. Does nothing under token enrollment: the first start prints an admin key.
 */
export const signInWithoutKey = async (session: Session, apiBase: string): Promise<void> => {
  if (await isSignedIn(session, apiBase)) return
  const { client } = session.connectTo({ baseUrl: apiBase })
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(32).toString('base64url')
  const { data } = await client.POST('/api/v1/login/authorize', {
    body: {
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      redirect_uri: 'http://127.0.0.1/callback',
      state,
    },
  })
  const code = data === undefined ? null : new URL(data.redirect_to).searchParams.get('code')
  if (code === null) return
  const token = await client.POST('/api/v1/login/token', { body: { code, code_verifier: verifier } })
  if (token.data === undefined) return
  await session.home.removeCredentials(apiBase)
  await keepKey(session, apiBase, token.data.api_key)
}
