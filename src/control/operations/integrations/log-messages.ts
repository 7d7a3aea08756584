import { createHmac } from 'node:crypto'
import {
  type IntegrationConfig,
  type IntegrationType,
  isReservedHeader,
  type LogFormat,
  rulesOf,
} from '../../../domain/integration.ts'
import { refusalInBulk } from './bulk-responses.ts'
import { type Message, refusesBody } from './send.ts'

/** An event as receivers get it. */
export interface LogEvent {
  readonly id: string
  readonly type: string
  readonly org_id: string | null
  readonly subject: { readonly kind: string; readonly id: string | null }
  readonly payload: Readonly<Record<string, unknown>>
  readonly time: string
}

export interface Receiver {
  readonly id: string
  readonly type: IntegrationType
  readonly endpoint: string
  readonly format: LogFormat | null
  readonly config: IntegrationConfig
}

const textOf = (config: IntegrationConfig, field: string): string | undefined => {
  const value = config[field]
  return typeof value === 'string' ? value : undefined
}

/** Returns the headers of the settings, including the credentials. */
export const signIn = (config: IntegrationConfig): Record<string, string> => {
  const username = textOf(config, 'username')
  const bearer = textOf(config, 'bearer_token')
  // Earlier versions accepted reserved ones.
  const allowed = Object.entries(config.headers ?? {}).filter(([name]) => !isReservedHeader(name))
  const headers: Record<string, string> = Object.fromEntries(allowed)
  if (bearer !== undefined) return { authorization: `Bearer ${bearer}`, ...headers }
  if (username === undefined) return headers
  const basic = Buffer.from(`${username}:${textOf(config, 'password') ?? ''}`).toString('base64')
  return { authorization: `Basic ${basic}`, ...headers }
}

/** Returns the address, with this path if it has none. */
export const withPath = (endpoint: string, path: string): string => {
  const url = new URL(endpoint)
  if (url.pathname === '/' || url.pathname === '') url.pathname = path
  return url.href
}

/** Returns the address, with the port of its type if it has none. */
export const withPort = ({ type, endpoint }: Receiver): string => {
  const url = new URL(endpoint)
  if (url.port === '') url.port = String(rulesOf(type).port)
  return url.href
}

/** Elasticsearch may be behind a prefix; an address that ends with /_bulk is complete. */
const bulkUrl = (endpoint: string, index: string): string => {
  const url = new URL(endpoint)
  if (!isBulkAddress(endpoint)) url.pathname = `${url.pathname.replace(/\/$/, '')}/${encodeURIComponent(index)}/_bulk`
  return url.href
}

export const isBulkAddress = (endpoint: string): boolean => /\/_bulk\/?$/.test(new URL(endpoint).pathname)

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } })

/** OTLP/HTTP in JSON (opentelemetry.io/docs/specs/otlp, ExportLogsServiceRequest). */
const otlp = (events: readonly LogEvent[]): string =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: [attribute('service.name', 'tributary')] },
        scopeLogs: [
          {
            scope: { name: 'tributary.events' },
            logRecords: events.map((event) => ({
              timeUnixNano: `${BigInt(Date.parse(event.time)) * 1_000_000n}`,
              severityNumber: 9,
              severityText: 'INFO',
              body: { stringValue: JSON.stringify(event.payload) },
              attributes: [
                attribute('event.name', event.type),
                attribute('event.id', event.id),
                attribute('subject.kind', event.subject.kind),
                ...(event.subject.id === null ? [] : [attribute('subject.id', event.subject.id)]),
                ...(event.org_id === null ? [] : [attribute('org.id', event.org_id)]),
              ],
            })),
          },
        ],
      },
    ],
  })

/** A line break would begin another message. */
const quoted = (value: string): string => `"${value.replace(/["\\\]]/g, '\\$&').replace(/\p{Cc}/gu, ' ')}"`

/** RFC 5424: facility local0, severity informational; the event's fields are structured data of an example enterprise. */
const syslogLine = (event: LogEvent): string => {
  const fields = [`id=${quoted(event.id)}`, `kind=${quoted(event.subject.kind)}`]
  if (event.subject.id !== null) fields.push(`subject=${quoted(event.subject.id)}`)
  if (event.org_id !== null) fields.push(`org=${quoted(event.org_id)}`)
  return `<134>1 ${event.time} tributary tributary - ${event.type} [event@32473 ${fields.join(' ')}] ${JSON.stringify(event.payload)}`
}

/** Splunk's HTTP event collector: one object after another. */
const hec = (events: readonly LogEvent[]): string =>
  events
    .map((event) =>
      JSON.stringify({ time: Date.parse(event.time) / 1000, source: 'tributary', sourcetype: '_json', event }),
    )
    .join('\n')

const BODY: Record<LogFormat, { readonly type: string; readonly write: (events: readonly LogEvent[]) => string }> = {
  json: { type: 'application/json', write: (events) => JSON.stringify({ events }) },
  otlp: { type: 'application/json', write: otlp },
  hec: { type: 'application/json', write: hec },
  syslog: { type: 'text/plain; charset=utf-8', write: (events) => `${events.map(syslogLine).join('\n')}\n` },
}

/** Standard Webhooks 1.0 (standardwebhooks.com): the signature covers id, time, and body. */
const webhookHeaders = (secret: string | undefined, id: string, body: string, now: Date): Record<string, string> => {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === undefined) return headers
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

/** Octet counting (RFC 6587, section 3.4.1) over TCP; a datagram for each message over UDP. */
const syslogMessages = (receiver: Receiver, events: readonly LogEvent[]): readonly Message[] => {
  const url = withPort(receiver)
  const lines = events.map((event) => Buffer.from(syslogLine(event)))
  const bodies = url.startsWith('udp:')
    ? lines.map((line) => line.subarray(0, 8192))
    : [Buffer.concat(lines.flatMap((line) => [Buffer.from(`${line.length} `), line]))]
  return bodies.map((body) => ({ url, headers: {}, body }))
}

/**
 * The id under which an event that is delivered twice is stored once. Other installations write into the same index, and
 * number their events alike; a restored backup repeats numbers.
 */
const documentId = ({ id }: Receiver, event: LogEvent): string => `${id}-${event.id}-${Date.parse(event.time)}`

/** Returns the messages that bring these events to a receiver, in order. */
export const logMessages = (receiver: Receiver, events: readonly LogEvent[], now: Date): readonly Message[] => {
  const { type, endpoint, config } = receiver
  const format = receiver.format ?? 'json'
  const { type: contentType, write } = BODY[format]
  const text = write(events)
  const post = (url: string, headers: Record<string, string>, body = text, as = contentType): readonly Message[] => [
    { url, headers: { 'content-type': as, ...headers }, body: Buffer.from(body) },
  ]
  if (type === 'syslog') return syslogMessages(receiver, events)
  if (type === 'otlp') return post(withPath(endpoint, '/v1/logs'), signIn(config))
  if (type === 'splunk') {
    const token = textOf(config, 'token') ?? ''
    return post(withPath(endpoint, '/services/collector/event'), { authorization: `Splunk ${token}` })
  }
  if (type === 'elasticsearch') {
    const key = textOf(config, 'api_key')
    const headers = key === undefined ? signIn(config) : { ...signIn(config), authorization: `ApiKey ${key}` }
    const lines = events.flatMap((event) => [
      JSON.stringify({ create: { _id: documentId(receiver, event) } }),
      JSON.stringify(event),
    ])
    const url = bulkUrl(endpoint, textOf(config, 'index') ?? 'tributary')
    return post(url, headers, `${lines.join('\n')}\n`, 'application/x-ndjson').map((message) => ({
      ...message,
      refusalIn: refusalInBulk(refusesBody),
    }))
  }
  // Names the first and the last event: a request that is repeated has the same events and id, so that receivers may ignore an id
  // that they know, and a part of a rejected request has another.
  const ids = [events[0], ...events.slice(1).slice(-1)].map((event) => event?.id ?? `test-${now.getTime()}`)
  const id = `${receiver.id}-${ids.join('-')}`
  return post(endpoint, { ...signIn(config), ...webhookHeaders(textOf(config, 'secret'), id, text, now) })
}
