import { hostname } from 'node:os'
import { hostNameOf, isOwnHost, isOwnOrigin, type OwnHosts } from '../../domain/own-hosts.ts'
import type { App } from './app.ts'

export interface HostSettings {
  /** The host that the server is set to listen on. */
  readonly host: string
  /** SERVICE_PUBLIC_URL: the server's public address. */
  readonly publicUrl: string | null
  /** SERVICE_CORS_ORIGINS: pages that may call it. */
  readonly corsOrigins: readonly string[]
}

/** Probes may use any host name; these responses reveal nothing. */
const ALWAYS = new Set(['/health', '/api/v1/health'])

const ownHostsOf = ({ host, publicUrl, corsOrigins }: HostSettings): OwnHosts => ({
  names: new Set([hostname(), host, ...(publicUrl === null ? [] : [new URL(publicUrl).host])].map(hostNameOf)),
  origins: corsOrigins,
})

const ADVICE = 'set SERVICE_PUBLIC_URL to the address that this server is known by, such as'

/** For servers that do not require a key: refuses other host names and pages of other origins. See `isOwnHost`. */
export const refuseForeignHosts = (app: App, settings: HostSettings, refusal: (message: string) => Error): void => {
  const own = ownHostsOf(settings)
  app.addHook('onRequest', (request, _reply, done) => {
    const { host, origin } = request.headers
    // Browsers always send a Host.
    const isForeignHost = host !== undefined && host !== '' && !isOwnHost(host, own)
    const isForeignPage = origin !== undefined && !isOwnOrigin(origin, own)
    if (!(isForeignHost || isForeignPage) || ALWAYS.has(request.url.split('?', 1)[0]!)) return done()
    if (isForeignHost) {
      const name = hostNameOf(host).slice(0, 100)
      return done(
        refusal(
          `This server requires no key, so it refuses requests for the host '${name}'. If that is its own name, ${ADVICE} http://${name}.`,
        ),
      )
    }
    const page = `${origin}`.slice(0, 100)
    done(
      refusal(
        `This server requires no key, so pages of '${page}' are not allowed to call it. To allow them, ${ADVICE} https://fleet.example.org, ` +
          'or list their origin in SERVICE_CORS_ORIGINS.',
      ),
    )
  })
}
