import { join, resolve } from 'node:path'
import {
  backupUrlOf,
  ConfigError,
  certificateOf,
  databaseUrlOf,
  inferenceKeyOf,
  inferenceUrlOf,
  oidcOf,
  originsOf,
  pathOf,
  proxiesOf,
  publicUrlOf,
  smtpOf,
  storageOf,
} from './config-addresses.ts'
import type { EnrollmentMode } from './domain/access.ts'
import { decimalNumber } from './domain/decimal-number.ts'
import { isLoopback } from './domain/loopback.ts'
import type { StorageLocation } from './domain/storage-location.ts'
import { serviceFolder } from './platform/files/user-folder.ts'

export { ConfigError }

/** All settings of the service, read once. `svc` and the service share SERVICE_HOME. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** null: the embedded database in the data folder. */
  readonly databaseUrl: string | null
  /** Where weight files are stored. */
  readonly storage: StorageLocation
  /** Fingerprints of keys in the data folder that were lost and may be replaced. */
  readonly replaceKeys: readonly string[]
  /** The limit for local copies of files stored in S3. Files in use may exceed it. */
  readonly cacheBytes: number
  readonly downloads: (typeof DOWNLOADS)[number]
  readonly enrollment: EnrollmentMode
  readonly rateLimitPerMinute: number
  /** null: derived from each round's timeout. */
  readonly stragglerGraceSeconds: number | null
  readonly maxUploadBytes: number
  /** Whether uploads are converted to ONNX automatically. */
  readonly conversions: 'on' | 'off'
  /** The largest file that is converted. */
  readonly maxConversionBytes: number
  readonly updateRetentionDays: number
  /** How many round models are kept per job, and for rounds without a job. Models that something refers to are kept as well. */
  readonly roundModelsKept: number
  /** How long a strategy's state is kept after its job has ended. */
  readonly jobStateRetentionDays: number
  /** Where backups are written by default: the absolute path or URL of a folder, or an s3:// URL; null for none. */
  readonly backupUrl: string | null
  readonly backupHours: number
  /** How many backups are kept. */
  readonly backupKeep: number
  /** Each stored file is rehashed after this many days; 0: never. */
  readonly scrubDays: number
  /** The maximum number of bytes hashed per second. */
  readonly scrubBytesPerSecond: number
  readonly corsOrigins: readonly string[]
  /** PEM files for https; null for http. */
  readonly certificate: ReturnType<typeof certificateOf>
  /** The service's public address, if it differs from the local one; without a trailing slash. */
  readonly publicUrl: string | null
  /** Where this installation keeps its data; organizations of other regions are refused. null: unspecified. */
  readonly region: 'us' | 'eu' | 'ap' | null
  /** The mail server and the sender's address; null for no mail. */
  readonly smtp: ReturnType<typeof smtpOf>
  /** The identity provider for sign-in (OpenID Connect); null for none. */
  readonly oidc: ReturnType<typeof oidcOf>
  /** An OpenAI-style inference server (`svc serve`) for the playground, without a trailing /v1; null for none. */
  readonly inferenceUrl: string | null
  /** The key for the inference server; null for none. */
  readonly inferenceKey: string | null
  /** Whether integrations may send requests to private addresses and this machine. */
  readonly integrationsPrivate: 'allow' | 'refuse'
  /** How long /ready announces a stop before connections are closed, so that load balancers stop sending requests. */
  readonly drainSeconds: number
  /** Addresses and networks of the proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/** What sends files: the service; the object store, to clients that request it; or nginx, from the same folder. */
const DOWNLOADS = ['proxy', 'redirect', 'x-accel'] as const
const REGIONS = ['us', 'eu', 'ap'] as const
const GIB = 1024 ** 3

/** Variables with the same prefix that belong to the command line and the tests. */
const FOREIGN = new Set([
  'SERVICE_API_KEY',
  'SERVICE_API_BASE',
  'SERVICE_DASHBOARD_URL',
  'SERVICE_ENGINE_API_KEY',
  'SERVICE_MODEL',
  'SERVICE_TEST_DATABASE_URL',
])

type Environment = Readonly<Record<string, string | undefined>>

const fingerprintsOf = (value: string | undefined): readonly string[] => {
  const fingerprints = value?.split(',').map((one) => one.trim()) ?? []
  if (fingerprints.every((one) => /^[0-9a-f]{16}$/.test(one))) return fingerprints
  throw new ConfigError(
    `SERVICE_REPLACE_KEYS must be a comma-separated list of the fingerprints that the service has shown, got '${value}'.`,
  )
}

/**
 * The settings in `environment`, with their defaults.
 * @throws ConfigError naming the variable and what is wrong with it; unknown SERVICE_ names are refused too.
 */
export const readConfig = (environment: Environment): Config => {
  const read = new Set<string>()
  const text = (name: string): string | undefined => {
    read.add(name)
    const value = environment[name]?.trim()
    return value === '' ? undefined : value
  }
  const number = (name: string, range: { min: number; max: number; whole?: boolean }, fallback: number): number => {
    const value = text(name)
    if (value === undefined) return fallback
    const parsed = decimalNumber(value)
    if (!(parsed >= range.min && parsed <= range.max) || (range.whole !== false && !Number.isInteger(parsed))) {
      const kind = range.whole === false ? 'number' : 'whole number'
      throw new ConfigError(`${name} must be a ${kind} from ${range.min} to ${range.max}, got '${value}'.`)
    }
    return parsed
  }
  const oneOf = <Word extends string>(name: string, words: readonly Word[], fallback: Word): Word => {
    const value = text(name)
    if (value === undefined) return fallback
    const word = words.find((candidate) => candidate === value)
    if (word === undefined) throw new ConfigError(`${name} must be one of ${words.join(', ')}, got '${value}'.`)
    return word
  }

  const path = (name: string): string | undefined => pathOf(name, text(name))

  const home = serviceFolder(path('SERVICE_HOME'))
  const host = text('SERVICE_HOST') ?? '127.0.0.1'
  const storage = storageOf(text('SERVICE_STORAGE_URL'))
  const downloads = oneOf('SERVICE_DOWNLOADS', DOWNLOADS, 'proxy')
  if (downloads === 'redirect' && storage.kind === 'folder') {
    throw new ConfigError(
      'SERVICE_DOWNLOADS=redirect needs files in S3: set SERVICE_STORAGE_URL to s3://…, or use proxy.',
    )
  }
  if (downloads === 'x-accel' && storage.kind === 's3') {
    throw new ConfigError(
      'SERVICE_DOWNLOADS=x-accel needs files in a folder that nginx reads too: use redirect for S3.',
    )
  }
  const enrollment = oneOf('SERVICE_ENROLLMENT', ['open', 'token'], isLoopback(host) ? 'open' : 'token')
  const grace = text('SERVICE_STRAGGLER_GRACE_SECONDS')
  const config: Config = {
    host,
    port: number('SERVICE_PORT', { min: 0, max: 65_535 }, 8000),
    dataDir: resolve(path('SERVICE_DATA_DIR') ?? join(home, 'data')),
    databaseUrl: databaseUrlOf(text('SERVICE_DATABASE_URL')),
    storage,
    replaceKeys: fingerprintsOf(text('SERVICE_REPLACE_KEYS')),
    cacheBytes: number('SERVICE_CACHE_BYTES', { min: 0, max: 1024 * 1024 * GIB }, 10 * GIB),
    downloads,
    enrollment,
    rateLimitPerMinute: number('SERVICE_RATE_LIMIT_PER_MINUTE', { min: 1, max: 1_000_000_000 }, 100),
    stragglerGraceSeconds:
      grace === undefined ? null : number('SERVICE_STRAGGLER_GRACE_SECONDS', { min: 0, max: 3600, whole: false }, 0),
    maxUploadBytes: number('SERVICE_MAX_UPLOAD_BYTES', { min: 1024, max: 1024 * GIB }, 16 * GIB),
    conversions: oneOf('SERVICE_CONVERSIONS', ['on', 'off'], 'on'),
    maxConversionBytes: number('SERVICE_MAX_CONVERSION_BYTES', { min: 1024, max: 2 * GIB }, GIB),
    updateRetentionDays: number('SERVICE_UPDATE_RETENTION_DAYS', { min: 0, max: 3650, whole: false }, 7),
    roundModelsKept: number('SERVICE_ROUND_MODELS_KEPT', { min: 1, max: 1_000_000 }, 100),
    jobStateRetentionDays: number('SERVICE_JOB_STATE_RETENTION_DAYS', { min: 0, max: 3650, whole: false }, 90),
    backupUrl: backupUrlOf(text('SERVICE_BACKUP_URL')),
    backupHours: number('SERVICE_BACKUP_HOURS', { min: 0.1, max: 8760, whole: false }, 24),
    backupKeep: number('SERVICE_BACKUP_KEEP', { min: 1, max: 10_000 }, 7),
    scrubDays: number('SERVICE_SCRUB_DAYS', { min: 0, max: 3650, whole: false }, 30),
    scrubBytesPerSecond: number('SERVICE_SCRUB_BYTES_PER_SECOND', { min: 1024, max: 1024 * GIB }, 20_000_000),
    corsOrigins: originsOf(text('SERVICE_CORS_ORIGINS')),
    certificate: certificateOf(path('SERVICE_TLS_CERT'), path('SERVICE_TLS_KEY')),
    publicUrl: publicUrlOf(text('SERVICE_PUBLIC_URL')),
    region: text('SERVICE_REGION') === undefined ? null : oneOf('SERVICE_REGION', REGIONS, 'us'),
    smtp: smtpOf(text('SERVICE_SMTP_URL'), text('SERVICE_SMTP_FROM')),
    oidc: oidcOf(text('SERVICE_OIDC_ISSUER'), text('SERVICE_OIDC_CLIENT_ID'), text('SERVICE_OIDC_CLIENT_SECRET')),
    inferenceUrl: inferenceUrlOf(text('SERVICE_INFERENCE_URL')),
    inferenceKey: inferenceKeyOf(text('SERVICE_SERVER_KEY')),
    integrationsPrivate: oneOf(
      'SERVICE_INTEGRATIONS_PRIVATE',
      ['allow', 'refuse'],
      enrollment === 'open' ? 'allow' : 'refuse',
    ),
    drainSeconds: number('SERVICE_DRAIN_SECONDS', { min: 0, max: 600, whole: false }, 0),
    trustProxy: proxiesOf(text('SERVICE_TRUST_PROXY')),
    logLevel: oneOf('SERVICE_LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  const unknown = Object.keys(environment).find(
    (name) => name.startsWith('SERVICE_') && !read.has(name) && !FOREIGN.has(name),
  )
  if (unknown !== undefined) {
    const known = [...read].sort()
    throw new ConfigError(`${unknown} is not a setting of this service. Known: ${known.join(', ')}.`)
  }
  return Object.freeze(config)
}
