import { hasCredentials } from './address-credentials.ts'
import { badRequest } from './errors.ts'
import { EVENT_TOPICS } from './event-topics.ts'

export const INTEGRATION_KINDS = ['metrics', 'logs', 'training'] as const
export type IntegrationKind = (typeof INTEGRATION_KINDS)[number]
/** The topics of log integrations: those of the event stream, and entries of the audit log. */
export const INTEGRATION_TOPICS = [...EVENT_TOPICS, 'audit'] as const
export type IntegrationTopic = (typeof INTEGRATION_TOPICS)[number]
export const LOG_FORMATS = ['json', 'syslog', 'hec', 'otlp'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

interface TypeRules {
  readonly kind: IntegrationKind
  /** The default; null: required. */
  readonly endpoint: string | null
  readonly protocols: readonly string[]
  /** The default, where the protocol has none. */
  readonly port?: number
  /** Fields of `config`, and whether each is secret or required. */
  readonly config: Readonly<Record<string, 'optional' | 'secret' | 'required secret'>>
  /** The first is the default. */
  readonly formats: readonly LogFormat[]
}

const WEB = ['http:', 'https:'] as const
const SIGN_IN = { username: 'optional', password: 'secret', bearer_token: 'secret', headers: 'secret' } as const

/** The types of receivers; each has one kind. */
export const INTEGRATION_TYPES = {
  prometheus: { kind: 'metrics', endpoint: null, protocols: WEB, config: SIGN_IN, formats: [] },
  opentelemetry: { kind: 'metrics', endpoint: null, protocols: WEB, config: SIGN_IN, formats: [] },
  datadog: {
    kind: 'metrics',
    endpoint: 'https://api.datadoghq.com',
    protocols: WEB,
    config: { api_key: 'required secret' },
    formats: [],
  },
  statsd: {
    kind: 'metrics',
    endpoint: null,
    protocols: ['udp:'],
    port: 8125,
    config: { prefix: 'optional' },
    formats: [],
  },
  otlp: { kind: 'logs', endpoint: null, protocols: WEB, config: SIGN_IN, formats: ['otlp'] },
  webhook: {
    kind: 'logs',
    endpoint: null,
    protocols: WEB,
    config: { ...SIGN_IN, secret: 'secret' },
    formats: ['json', 'otlp', 'hec', 'syslog'],
  },
  splunk: { kind: 'logs', endpoint: null, protocols: WEB, config: { token: 'required secret' }, formats: ['hec'] },
  elasticsearch: {
    kind: 'logs',
    endpoint: null,
    protocols: WEB,
    config: { ...SIGN_IN, api_key: 'secret', index: 'optional' },
    formats: ['json'],
  },
  syslog: { kind: 'logs', endpoint: null, protocols: ['udp:', 'tcp:'], port: 514, config: {}, formats: ['syslog'] },
  mlflow: {
    kind: 'training',
    endpoint: null,
    protocols: WEB,
    config: { ...SIGN_IN, experiment: 'optional' },
    formats: [],
  },
} as const satisfies Record<string, TypeRules>

export type IntegrationType = keyof typeof INTEGRATION_TYPES
export const rulesOf = (type: IntegrationType): TypeRules => INTEGRATION_TYPES[type]

export type IntegrationConfig = Readonly<Record<string, string | Readonly<Record<string, string>>>>

const MAX_VALUE = 4096
const MIN_KEY_BYTES = 16
const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/

/** Those of the connection and of the framing of the request (RFC 9110 and 9112), which the service sets itself. */
const RESERVED_HEADERS = ['connection', 'content-length', 'expect', 'te', 'trailer', 'transfer-encoding', 'upgrade']
export const isReservedHeader = (name: string): boolean => RESERVED_HEADERS.includes(name.toLowerCase())

/** Settings that are sent in a header as they are. */
const IN_HEADERS = ['bearer_token', 'api_key', 'token']

const requireText = (field: string, value: unknown): string => {
  if (typeof value !== 'string' || value.length > MAX_VALUE || /[\r\n\0]/.test(value)) {
    throw badRequest(`${field} must be text on one line.`)
  }
  return value
}

const requireHeaderText = (field: string, value: unknown): string => {
  const text = requireText(field, value)
  if (!/[^\t -~\u0080-\u00ff]/.test(text)) return text
  throw badRequest(
    `${field} contains a character that HTTP headers cannot contain: use only Latin-1 characters, and no control characters.`,
  )
}

const requireHeaders = (value: unknown): Readonly<Record<string, string>> => {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : null
  if (entries === null || entries.length > 32)
    throw badRequest('config.headers must be an object such as {"x-team": "edge"}.')
  for (const [name, text] of entries) {
    if (!HEADER.test(name)) throw badRequest(`config.headers: '${name.slice(0, 100)}' is not a header name.`)
    if (isReservedHeader(name)) {
      throw badRequest(`config.headers: '${name}' is set by the service itself. Leave it out.`)
    }
    requireHeaderText(`config.headers.${name}`, text)
  }
  return Object.fromEntries(entries) as Record<string, string>
}

/** Standard Webhooks 1.0: `whsec_` and a base64 key; any other text is the key itself. */
const requireKey = (secret: string): void => {
  if (!secret.startsWith('whsec_') || bytesIn(secret.slice(6)) >= MIN_KEY_BYTES) return
  throw badRequest(
    `config.secret: after whsec_ it must be at least ${MIN_KEY_BYTES} bytes in base64. Leave it out to get one.`,
  )
}

const bytesIn = (base64: string): number => {
  try {
    return atob(base64).length
  } catch {
    return 0
  }
}

/** Validates the settings of a receiver of this type. @throws bad_request naming the field. */
export const readIntegrationConfig = (
  type: IntegrationType,
  value: Readonly<Record<string, unknown>>,
): IntegrationConfig => {
  const { config } = rulesOf(type)
  const fields = Object.keys(config)
  const read = Object.entries(value).map(([field, given]) => {
    if (!Object.hasOwn(config, field)) {
      const known = fields.length === 0 ? 'It takes none.' : `It takes ${fields.join(', ')}.`
      throw badRequest(`config.${field.slice(0, 100)} is not a setting of ${type} integrations. ${known}`)
    }
    if (field === 'headers') return [field, requireHeaders(given)] as const
    const text = (IN_HEADERS.includes(field) ? requireHeaderText : requireText)(`config.${field}`, given)
    if (text === '') throw badRequest(`config.${field} must be text on one line.`)
    if (field === 'secret') requireKey(text)
    return [field, text] as const
  })
  const missing = fields.find((field) => config[field] === 'required secret' && !Object.hasOwn(value, field))
  if (missing !== undefined) throw badRequest(`config.${missing} is missing: a ${type} integration needs it.`)
  return Object.fromEntries(read)
}

/** Returns the receiver's address. @throws bad_request if it is missing or not valid for the type. */
export const readEndpoint = (type: IntegrationType, given: string | undefined): string => {
  const { endpoint: usual, protocols, port = 4318 } = rulesOf(type)
  const text = given ?? usual
  const example = `${protocols[0]}//receiver.example:${port}`
  if (text === null)
    throw badRequest(`endpoint is missing: the address that a ${type} integration sends to, such as ${example}.`)
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null && protocols.some((each) => text.startsWith(`${each}//`)))
    throw badRequest(`endpoint: its host or port is not valid. Use an address such as ${example}.`)
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') {
    throw badRequest(
      `endpoint must begin with ${protocols.map((each) => `${each}//`).join(' or ')}, such as ${example}.`,
    )
  }
  if (hasCredentials(url)) {
    throw badRequest(
      'endpoint must not contain a password, because endpoints are shown: use config.username and config.password.',
    )
  }
  return text
}

/** Returns settings for display: the values of secrets are hidden. */
export const withoutSecrets = (type: IntegrationType, config: IntegrationConfig): Record<string, string> =>
  Object.fromEntries(
    Object.entries(config).map(([field, value]) => [
      field,
      rulesOf(type).config[field] === 'optional' && typeof value === 'string' ? value : '(secret)',
    ]),
  )

const FIRST_RETRY_MS = 1000
const MAX_RETRY_MS = 5 * 60_000

/** Doubles from 1 s up to 5 min. */
export const retryAfterMs = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20))
