import { X509Certificate } from 'node:crypto'
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type Server } from 'node:tls'

/** Files in PEM form: the certificate with its chain, and its private key. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** An unusable certificate: the service prints this message and does not start. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

interface Pair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** How often the files are checked for changes. Certificates are often replaced by changing a symbolic link. */
const POLL_INTERVAL_MS = 5000

const read = (setting: string, path: string): Promise<Buffer> =>
  readFile(path).catch((error: Error) => {
    throw new CertificateError(`${setting} cannot be read: ${error.message}.`)
  })

/** @throws CertificateError if a file cannot be read, or the files are not a certificate and its key */
export const readCertificate = async ({ cert, key }: CertificateFiles): Promise<Pair> => {
  const pair = { cert: await read('SERVICE_TLS_CERT', cert), key: await read('SERVICE_TLS_KEY', key) }
  try {
    createSecureContext(pair)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const reason = code.includes('KEY_VALUES_MISMATCH') ? 'the key does not belong to the certificate' : message
    throw new CertificateError(
      `SERVICE_TLS_CERT (${cert}) and SERVICE_TLS_KEY (${key}) cannot be used: ${reason}. ` +
        'They must be PEM files: the certificate followed by its chain, and its private key without a passphrase.',
    )
  }
  return pair
}

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Warns of a certificate that clients refuse because of its dates. */
export const warnOfDates = ({ cert }: Pair, file: string, log: Pick<Log, 'warn'>): void => {
  const { validFrom, validTo } = new X509Certificate(cert)
  const dates = { cert: file, valid_from: new Date(validFrom), valid_until: new Date(validTo) }
  const now = Date.now()
  if (dates.valid_until.getTime() < now) log.warn(dates, 'The certificate has expired: clients refuse it. Renew it.')
  else if (dates.valid_from.getTime() > now)
    log.warn(dates, 'The certificate is not valid yet: clients refuse it. Check the clock of this machine.')
}

/**
 * Reloads the certificate for new connections when its files change or the process receives SIGHUP. If the new one is unusable,
 * logs this and keeps the previous one. Returns a function that stops it.
 */
export const renewCertificate = (server: Server, files: CertificateFiles, log: Log): (() => void) => {
  const renew = (): void => {
    readCertificate(files).then(
      (pair) => {
        server.setSecureContext(pair)
        log.info({ cert: files.cert }, 'the certificate was reloaded')
        warnOfDates(pair, files.cert, log)
      },
      (error: Error) => log.error({ cert: files.cert }, `The previous certificate stays in use. ${error.message}`),
    )
  }
  const paths = [files.cert, files.key]
  for (const path of paths) watchFile(path, { interval: POLL_INTERVAL_MS, persistent: false }, renew)
  process.on('SIGHUP', renew)
  return () => {
    for (const path of paths) unwatchFile(path, renew)
    process.off('SIGHUP', renew)
  }
}
