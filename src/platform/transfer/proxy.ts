import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { urlToHttpOptions } from 'node:url'

const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'] as const
/** Always direct, never through the proxy. */
const THIS_MACHINE = 'localhost,127.0.0.1,[::1]'

type Environment = Readonly<Record<string, string | undefined>>

/** The environment names an unusable proxy. */
export class ProxyError extends Error {}

/** An address without a scheme is that of an HTTP proxy, as is customary. */
const addressIn = (env: Environment, names: readonly (typeof VARIABLES)[number][]): URL | null => {
  const name = names.find((each) => env[each])
  if (name === undefined) return null
  const given = env[name]!
  const address = given.includes('://') ? given : `http://${given}`
  const isEncoded = !/%(?![\da-f]{2})/i.test(address)
  if (isEncoded && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return new URL(address)
  const example = 'http://proxy.example.org:3128, with special characters of a password percent-encoded'
  throw new ProxyError(`${name} is not the address of an HTTP proxy. Set it to one like ${example}.`)
}

interface Proxies {
  readonly http: URL | null
  readonly https: URL | null
  /** Hosts, including their subdomains, optionally with a port. */
  readonly direct: string
}

let proxies: Proxies = { http: null, https: null, direct: '' }

/**
 * Sends this thread's `fetch` requests through the proxy in HTTPS_PROXY or HTTP_PROXY, except those to this machine and to the
 * hosts in NO_PROXY and their subdomains. Lowercase names take precedence, as in curl. HTTP_PROXY is also used for https if
 * HTTPS_PROXY is not set.
 * @throws ProxyError
 */
export const sendThroughProxy = async (env: Environment): Promise<void> => {
  if (!VARIABLES.some((name) => env[name])) return
  const http = addressIn(env, ['http_proxy', 'HTTP_PROXY'])
  const https = addressIn(env, ['https_proxy', 'HTTPS_PROXY']) ?? http
  const given = (env.no_proxy ?? env.NO_PROXY ?? '').trim()
  const direct = given === '*' ? '*' : `${THIS_MACHINE},${given}`
  proxies = { http, https, direct }
  const { EnvHttpProxyAgent, setGlobalDispatcher } = await import('undici')
  setGlobalDispatcher(
    new EnvHttpProxyAgent({
      // Tunnels only for https: many proxies allow no others.
      proxyTunnel: false,
      httpProxy: http?.href ?? '',
      httpsProxy: https?.href ?? '',
      noProxy: direct,
    }),
  )
}

/** Follows the rules of `EnvHttpProxyAgent`. */
const isDirect = ({ hostname, protocol, port }: URL): boolean =>
  proxies.direct.split(/[,\s]+/).some((entry) => {
    const [, host = '', ofPort] = /^(?:\*?\.)?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase())!
    if (ofPort !== undefined && ofPort !== (port || (protocol === 'https:' ? '443' : '80'))) return false
    return host !== '' && (host === '*' || hostname === host || hostname.endsWith(`.${host}`))
  })

const authorization = ({ username, password }: URL) => {
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }
}

const openTunnel = (proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const path = `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`
    const send = proxy.protocol === 'https:' ? requestHttps : requestHttp
    const connecting = send(proxy, {
      method: 'CONNECT',
      path,
      headers: { host: path, ...authorization(proxy) },
      signal,
    })
    connecting.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(new Error(`the proxy returned ${statusCode}`))
    })
    connecting.on('error', reject)
    connecting.end()
  })

/** Returns the proxy for requests to `url`. */
const proxyOf = (url: URL): URL | null => (isDirect(url) ? null : proxies[url.protocol === 'https:' ? 'https' : 'http'])

/** For messages about connections: ` through the proxy …` if there is one. */
export const throughProxy = (url: URL): string => {
  const proxy = proxyOf(url)
  return proxy === null ? '' : ` through the proxy ${proxy.host}`
}

/** Returns options with which `request` of `node:http` or `node:https` reaches `url` the same way as `fetch`. */
export const routeTo = async (url: URL, signal: AbortSignal): Promise<RequestOptions> => {
  const proxy = proxyOf(url)
  if (proxy === null) return { agent: false }
  if (url.protocol === 'http:' && proxy.protocol === 'http:') {
    const { hostname, port } = urlToHttpOptions(proxy)
    const headers = { host: url.host, ...authorization(proxy) }
    return { agent: false, hostname, port: port || 80, path: url.href, headers }
  }
  const socket = await openTunnel(proxy, url, signal)
  if (url.protocol === 'http:') return { createConnection: () => socket }
  const host = urlToHttpOptions(url).hostname!
  // An IP address has no server name to send; the certificate is then checked against the address.
  const connection = connectTls({ socket, host, servername: isIP(host) === 0 ? host : '' })
  return { createConnection: () => connection }
}
