// Settings that contain addresses: of a database, a mail server, an identity provider, proxies.
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { withoutCredentials } from './domain/address-credentials.ts'
import { isLoopback } from './domain/loopback.ts'
import { parseOrigins, parsePublicUrl } from './domain/own-hosts.ts'
import { parseStorageUrl, type StorageLocation } from './domain/storage-location.ts'

/** An invalid setting. The service prints the message and does not start. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Environment files are not read by a shell: the service would create a folder named `~`. */
export const pathOf = (name: string, value: string | undefined): string | undefined => {
  if (value === undefined || !/^(~|\$|["'])/.test(value)) return value
  throw new ConfigError(
    `${name} must be a path, without quotes, '~', or variables, which only a shell replaces, got '${value}'.`,
  )
}

/** The driver takes any other word for verify-full. */
const SSL_MODES: readonly string[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

export const databaseUrlOf = (value: string | undefined): string | null => {
  if (value === undefined) return null
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw new ConfigError(
      'SERVICE_DATABASE_URL must look like postgres://user:password@host:5432/name, with special characters of the password ' +
        'percent-encoded, such as %23 for #.',
    )
  }
  const mode = url.searchParams.getAll('sslmode').find((each) => !SSL_MODES.includes(each))
  if (mode === undefined) return value
  throw new ConfigError(`sslmode in SERVICE_DATABASE_URL must be one of ${SSL_MODES.join(', ')}, got '${mode}'.`)
}

export const certificateOf = (
  cert: string | undefined,
  key: string | undefined,
): { readonly cert: string; readonly key: string } | null => {
  if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) }
  if (cert === undefined && key === undefined) return null
  const [given, missing] = cert === undefined ? ['KEY', 'CERT'] : ['CERT', 'KEY']
  throw new ConfigError(
    `SERVICE_TLS_${given} needs SERVICE_TLS_${missing} as well: HTTPS needs the certificate and its key.`,
  )
}

export const backupUrlOf = (value: string | undefined): string | null => {
  if (value === undefined) return null
  const location = parseStorageUrl(value)
  if (typeof location === 'string') throw new ConfigError(`SERVICE_BACKUP_URL: ${location}.`)
  return value
}

export const storageOf = (value: string | undefined): StorageLocation => {
  const location = parseStorageUrl(value)
  if (typeof location !== 'string') return location
  throw new ConfigError(`SERVICE_STORAGE_URL: ${location}.`)
}

export const originsOf = (value = ''): readonly string[] => {
  const { origins, wrong } = parseOrigins(value)
  if (wrong === null) return origins
  throw new ConfigError(
    `SERVICE_CORS_ORIGINS must list origins such as https://app.example.org, got '${withoutCredentials(wrong)}'.`,
  )
}

export const publicUrlOf = (value: string | undefined): string | null => {
  if (value === undefined) return null
  const url = parsePublicUrl(value)
  // The dashboard loads its files from the root.
  if (url !== null && new URL(url).pathname === '/') return url
  throw new ConfigError(
    'SERVICE_PUBLIC_URL must be the address of this service without a path, such as https://fleet.example.org.',
  )
}

export const smtpOf = (
  url: string | undefined,
  from: string | undefined,
): { readonly url: string; readonly from: string } | null => {
  if (from !== undefined && !/^[^\s@<>,;]+@[^\s@<>,;]+$/.test(from)) {
    throw new ConfigError(`SERVICE_SMTP_FROM must be an email address, got '${from}'.`)
  }
  if (url === undefined) return null
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !['smtp:', 'smtps:'].includes(parsed.protocol) || parsed.hostname === '') {
    throw new ConfigError(
      'SERVICE_SMTP_URL must look like smtp://user:password@host:587 or smtps://user:password@host:465.',
    )
  }
  return { url, from: from ?? `tributary@${parsed.hostname}` }
}

export const oidcOf = (
  issuer: string | undefined,
  clientId: string | undefined,
  clientSecret: string | undefined,
): { readonly issuer: string; readonly clientId: string; readonly clientSecret: string } | null => {
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return null
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    const missing = issuer === undefined ? 'ISSUER' : clientId === undefined ? 'CLIENT_ID' : 'CLIENT_SECRET'
    throw new ConfigError(
      `SERVICE_OIDC_${missing} is missing: set SERVICE_OIDC_ISSUER, SERVICE_OIDC_CLIENT_ID, and SERVICE_OIDC_CLIENT_SECRET together.`,
    )
  }
  const url = parsePublicUrl(issuer) === null ? null : new URL(issuer)
  if (url === null || (url.protocol === 'http:' && !isLoopback(url.hostname))) {
    throw new ConfigError(
      'SERVICE_OIDC_ISSUER must be the https address of the issuer, without a user name, password, or query, such as ' +
        `https://login.example.org, got '${withoutCredentials(issuer)}'.`,
    )
  }
  return { issuer, clientId, clientSecret }
}

export const inferenceUrlOf = (value: string | undefined): string | null => {
  if (value === undefined) return null
  const url = parsePublicUrl(value)
  if (url !== null) return url.replace(/\/v1$/, '')
  throw new ConfigError(
    'SERVICE_INFERENCE_URL must be the address of an inference server, such as http://127.0.0.1:8080.',
  )
}

export const inferenceKeyOf = (value: string | undefined): string | null => {
  if (value === undefined || /^[\x21-\x7e]+$/.test(value)) return value ?? null
  throw new ConfigError('SERVICE_SERVER_KEY must have only ASCII characters and no spaces: it is sent in a header.')
}

const NAMED_NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

const isNetwork = (text: string): boolean => {
  if (NAMED_NETWORKS.includes(text)) return true
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

// Does not accept a hop count: clients that bypass the proxies could forge that many hops.
export const proxiesOf = (value: string | undefined): readonly string[] => {
  if (value === undefined || value === 'off') return []
  const networks = value.split(',').map((part) => part.trim())
  const wrong = networks.filter((one) => !isNetwork(one))
  if (wrong.length === 0) return networks
  throw new ConfigError(
    'SERVICE_TRUST_PROXY must be off, or list the addresses and networks of your proxies, such as 10.0.0.0/8,::1 ' +
      `(also by name: ${NAMED_NETWORKS.join(', ')}), got '${wrong.map(withoutCredentials).join(',')}'.`,
  )
}
