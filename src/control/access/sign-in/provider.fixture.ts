import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { onTestFinished } from 'vitest'

// Generating them takes longer than a sign-in.
const keys = generateKeyPair('RS256', { extractable: true })
const SECRET = 'a secret of the client, long enough'

/** The person at the provider's page, and what the provider knows about them. */
export interface ProviderUser {
  readonly sub: string
  readonly email: string
  readonly email_verified?: boolean
  readonly name?: string
  /** How they authenticate. */
  readonly amr?: readonly string[]
}

/** Starts an identity provider (the package oidc-provider) on a free port. The given person is signed in there at once. */
export const startProvider = async () => {
  let handle: (request: { url?: string | undefined }, response: { end(): void }) => void = (_, response) =>
    response.end()
  const server = createServer((request, response) => handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const users = new Map<string, ProviderUser>()
  let user: ProviderUser | null = null

  /** Makes it respond, for which it needs the address of the service. */
  const open = async (serviceUrl: string): Promise<void> => {
    const { default: Provider } = await import('oidc-provider')
    const { privateKey } = await keys
    const provider = new Provider(issuer, {
      clients: [{ client_id: 'tributary', client_secret: SECRET, redirect_uris: [`${serviceUrl}/sign-in/callback`] }],
      claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'], profile: ['name'] },
      cookies: { keys: ['k'] },
      features: { devInteractions: { enabled: false } },
      findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ ...users.get(id) }) }),
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      jwks: { keys: [{ ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' }] },
      ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600 },
    })
    const interact = async (request: unknown, response: unknown): Promise<void> => {
      const { prompt, params, session } = await provider.interactionDetails(request, response)
      if (user === null) {
        return provider.interactionFinished(request, response, { error: 'access_denied' })
      }
      if (prompt.name === 'login') {
        const { sub, amr = ['pwd'] } = user
        return provider.interactionFinished(request, response, { login: { accountId: sub, amr } })
      }
      const grant = new provider.Grant({ accountId: session?.accountId, clientId: params.client_id })
      grant.addOIDCScope('openid email profile')
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
    }
    const answer = provider.callback()
    handle = (request, response) => {
      if (request.url?.startsWith('/interaction/')) void interact(request, response)
      else answer(request, response)
    }
  }

  /** Follows the provider's pages like a browser, signed in there as `who` (null refuses), until the redirect back. */
  const visit = async (address: string, who: ProviderUser | null): Promise<URL> => {
    user = who
    if (who !== null) users.set(who.sub, { email_verified: true, ...who })
    const jar = new Map<string, string>()
    for (let next = new URL(address), hops = 0; hops < 12; hops++) {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
        jar.set(name!, value!)
      }
      const location = response.headers.get('location')
      if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
      next = new URL(location, next)
      if (next.origin !== issuer) return next
    }
    throw new Error('the provider redirects without end')
  }

  return {
    settings: { issuer, clientId: 'tributary', clientSecret: SECRET },
    open,
    visit,
    /** Sets who signs in when a browser goes there by itself. */
    setUser: (who: ProviderUser) => {
      user = who
      users.set(who.sub, { email_verified: true, ...who })
    },
    /** Makes it accept requests but never respond. */
    stall: () => {
      handle = () => undefined
    },
    stop: () => server.closeAllConnections() ?? new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
