import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { timeWords } from '../resources/cells.ts'
import { type Finding, ok, warn } from './finding.ts'

const TIMEOUT_MS = 5000
const WARN_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000

/** The end of validity of the certificate that the server presents, also one that is not trusted; null if none can be read. */
const readExpiry = ({ hostname, port }: URL): Promise<Date | null> =>
  new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const name = isIP(host) === 0 ? { servername: host } : {}
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false, ...name })
    const end = (expiry: Date | null): void => {
      socket.destroy()
      resolve(expiry)
    }
    socket.setTimeout(TIMEOUT_MS, () => end(null))
    socket.on('error', () => end(null))
    socket.on('secureConnect', () => {
      const expiry = new Date(socket.getPeerCertificate().valid_to)
      end(Number.isNaN(expiry.getTime()) ? null : expiry)
    })
  })

/** Warns before the certificate of the service, or of its proxy, expires. Nothing without HTTPS or a direct connection. */
export const certificate = async (baseUrl: string, now: Date): Promise<readonly Finding[]> => {
  const url = new URL(baseUrl)
  const expiry = url.protocol === 'https:' ? await readExpiry(url) : null
  if (expiry === null) return []
  const until = `valid until ${timeWords(expiry.toISOString())}`
  return expiry.getTime() - now.getTime() > WARN_DAYS * DAY_MS
    ? [ok('Certificate', until)]
    : [warn('Certificate', until, 'Renew it, and check why it was not renewed automatically.')]
}
