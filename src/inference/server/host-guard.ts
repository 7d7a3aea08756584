import { isIP } from 'node:net'
import type { App } from '../../http/app.ts'
import { InferenceError } from '../errors.ts'

/**
 * Names that no page of the web can be loaded from: those of this machine, and the zone that public DNS never answers for, which
 * containers reach their host by (host.docker.internal).
 */
const OWN_NAME = /^(?:[\w-]+\.)*localhost$|^(?:[\w-]+\.)+internal$/

const nameIn = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')

/** Whether a browser that says it talks to `host` means this machine; `configured` is the address the server was told. */
export const isOwnHost = (host: string, configured: string): boolean => {
  const name = nameIn(host)
  return isIP(name) !== 0 || OWN_NAME.test(name) || name === configured.toLowerCase()
}

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

/**
 * A page of the web can have its own name resolved to 127.0.0.1 and is then of the same origin as whatever listens there (DNS
 * rebinding). What gives it away is the name it asks for.
 */
export const refuseForeignHosts = (app: App, configured: string): void => {
  app.addHook('onRequest', async ({ headers: { host } }) => {
    const bound = app.server.address()
    if (bound === null || typeof bound === 'string' || !isLoopback(bound.address)) return
    // Browsers always send it.
    if (host === undefined || host === '' || isOwnHost(host, configured)) return
    throw new InferenceError(
      'host_not_allowed',
      `This server is for programs on this machine and does not answer to the name '${nameIn(host).slice(0, 100)}'. Ask for localhost or 127.0.0.1, or start it with --host to let others in.`,
    )
  })
}
