/** Addresses that a server which needs no key answers to, beside those that no page of the web can be loaded from. */
export interface OwnHosts {
  /** Names in lower case: this machine's, and what the server was told that it is called. */
  readonly names: ReadonlySet<string>
  /** Origins of pages that may call it; `*` for all. */
  readonly origins: readonly string[]
}

/** Names below these are never answered for by public DNS (RFC 6761, RFC 6762; `internal` is reserved by ICANN). */
const LOCAL_ZONE = /\.(?:localhost|local|internal)$/
const HOST_NAME = /^[\w-]+(?:\.[\w-]+)*$/
const IPV4 = /^(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/
const IPV6 = /^\[[\da-f:.]+\]$/

/** `Example.org.:8000` -> `example.org` */
export const hostNameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

/**
 * Whether a request for `host` (a Host header) is for this server by a name that a page of the web cannot have made its own.
 * Such a page has its name resolved to an address of this machine or network, and is then of the same origin as whatever
 * listens there (DNS rebinding); what gives it away is the name it asks for. An IP address, a name without a dot and a name in a
 * local zone cannot be had on the web.
 */
export const isOwnHost = (host: string, own: OwnHosts): boolean => {
  const name = hostNameOf(host)
  if (IPV4.test(name) || IPV6.test(name)) return true
  return HOST_NAME.test(name) && (!name.includes('.') || LOCAL_ZONE.test(name) || own.names.has(name))
}

/**
 * Whether a page of `origin` (an Origin header) may call this server. Only pages of the web are judged: `vscode-webview://…` and
 * `chrome-extension://…` are programs that the user installed. `null` is what a page in a sandbox sends, whoever made it.
 */
export const isOwnOrigin = (origin: string, own: OwnHosts): boolean => {
  if (own.origins.includes('*') || own.origins.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  return (protocol !== 'http:' && protocol !== 'https:') || isOwnHost(host, own)
}

/** `https://fleet.example.org/` -> `https://fleet.example.org`; null for what is no address of a web server. */
export const parsePublicUrl = (text: string): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** `https://a.example.org, http://b` -> its parts; `wrong` is the first that is no origin. */
export const parseOrigins = (text: string): { readonly origins: readonly string[]; readonly wrong: string | null } => {
  const origins = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
  return { origins, wrong: wrong ?? null }
}
