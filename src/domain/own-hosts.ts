import { hasCredentials } from './address-credentials.ts'

/** Hosts that a server without a key accepts, in addition to those that no web page can be loaded from. */
export interface OwnHosts {
  /** Lowercase names: this machine's, and the configured ones. */
  readonly names: ReadonlySet<string>
  /** Origins of pages that may call it; `*` for all. */
  readonly origins: readonly string[]
}

/** Public DNS never resolves names in these zones (RFC 6761, RFC 6762; `internal` is reserved by ICANN). */
const LOCAL_ZONE = /\.(?:localhost|local|internal)$/
const HOST_NAME = /^[\w-]+(?:\.[\w-]+)*$/
const IPV4 = /^(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/
const IPV6 = /^\[[\da-f:.]+\]$/

/** `Example.org.:8000` -> `example.org` */
export const hostNameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

/**
 * True if `host` (a Host header) is a name that no web page can be loaded from. In a DNS rebinding attack, a page's own name
 * resolves to an address of this machine or network, so the page has the same origin as the server there; only the requested
 * name reveals it. An IP address, a name without a dot and a name in a local zone cannot belong to a public website.
 */
export const isOwnHost = (host: string, own: OwnHosts): boolean => {
  const name = hostNameOf(host)
  if (IPV4.test(name) || IPV6.test(name)) return true
  return HOST_NAME.test(name) && (!name.includes('.') || LOCAL_ZONE.test(name) || own.names.has(name))
}

/**
 * True if a page from `origin` (an Origin header) may call this server. Restricts only web pages: `vscode-webview://…` and
 * `chrome-extension://…` are programs that the user installed. `null` is sent by any sandboxed page, whatever its source.
 */
export const isOwnOrigin = (origin: string, own: OwnHosts): boolean => {
  if (own.origins.includes('*') || own.origins.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  return (protocol !== 'http:' && protocol !== 'https:') || isOwnHost(host, own)
}

/** `https://fleet.example.org/` -> `https://fleet.example.org`; null if the text is not a web address. */
export const parsePublicUrl = (text: string): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  if (hasCredentials(url) || url.search !== '' || url.hash !== '') return null
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** Of a browser extension or an app that displays its own pages: `chrome-extension://<id>`, `capacitor://localhost`. */
const OF_PROGRAM = /^(?:app|capacitor|ionic|tauri|vscode-webview|[a-z]+(?:-[a-z]+)*-extension):\/\/[\w.-]+$/

/** `https://a.example.org, http://b` -> its parts; `wrong` is the first that is not an origin. */
export const parseOrigins = (text: string): { readonly origins: readonly string[]; readonly wrong: string | null } => {
  const origins = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  const wrong = origins.find(
    (origin) => !OF_PROGRAM.test(origin) && (!URL.canParse(origin) || new URL(origin).origin !== origin),
  )
  return { origins, wrong: wrong ?? null }
}
