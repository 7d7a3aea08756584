import type { IntegrationConfig } from '../../../domain/integration.ts'
import { type Receiver, signIn, withPath, withPort } from './log-messages.ts'
import type { Message } from './send.ts'

export interface MetricSample {
  readonly name: string
  readonly help: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const varint = (value: number | bigint): number[] => {
  const bytes: number[] = []
  let rest = BigInt(value)
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  return [...bytes, Number(rest)]
}
const field = (number: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
const label = (name: string, value: string): Buffer =>
  field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from(value))]))

/** One series of prometheus.WriteRequest (remote write 1.0): labels sorted by name, one sample. */
const series = ({ name, labels, value }: MetricSample, now: Date): Buffer => {
  const named = Object.entries({ ...labels, __name__: name }).sort(([a], [b]) => (a < b ? -1 : 1))
  const number = Buffer.alloc(9, 9)
  number.writeDoubleLE(value, 1)
  const sample = Buffer.concat([number, Buffer.from([16, ...varint(now.getTime())])])
  return field(1, Buffer.concat([...named.map(([key, text]) => label(key, text)), field(2, sample)]))
}

const MAX_LITERAL = 65_536

/** Snappy's block format (google/snappy, format_description.txt), with literals only: receivers only decompress it. */
const snappy = (bytes: Uint8Array): Buffer => {
  const parts: Uint8Array[] = [Uint8Array.from(varint(bytes.length))]
  for (let at = 0; at < bytes.length; at += MAX_LITERAL) {
    const chunk = bytes.subarray(at, at + MAX_LITERAL)
    parts.push(Uint8Array.of(61 << 2, (chunk.length - 1) & 255, (chunk.length - 1) >> 8), chunk)
  }
  return Buffer.concat(parts)
}

const json = (url: string, headers: Record<string, string>, body: unknown): Message => ({
  url,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(body)),
})

/** Gauges by name, in the JSON of OTLP/HTTP (ExportMetricsServiceRequest). */
const otlp = (samples: readonly MetricSample[], now: Date): unknown => {
  const timeUnixNano = `${BigInt(now.getTime()) * 1_000_000n}`
  const names = [...new Set(samples.map(({ name }) => name))]
  const metrics = names.map((name) => {
    const own = samples.filter((sample) => sample.name === name)
    const dataPoints = own.map(({ labels, value }) => ({
      timeUnixNano,
      asDouble: value,
      attributes: Object.entries(labels).map(([key, text]) => ({ key, value: { stringValue: text } })),
    }))
    return { name, description: own[0]!.help, gauge: { dataPoints } }
  })
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'tributary' } }] }
  return { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: 'tributary' }, metrics }] }] }
}

const tagsOf = (labels: MetricSample['labels']): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}:${value.replace(/[|,#\n]/g, '_')}`)

const DATAGRAM_BYTES = 1400

/** StatsD's gauges with DogStatsD's tags, as many lines per datagram as fit. */
const statsd = (url: string, config: IntegrationConfig, samples: readonly MetricSample[]): Message[] => {
  const prefix = typeof config.prefix === 'string' ? config.prefix : ''
  const datagrams: string[] = ['']
  for (const { name, labels, value } of samples) {
    const tags = tagsOf(labels)
    const line = `${prefix}${name}:${value}|g${tags.length === 0 ? '' : `|#${tags.join(',')}`}`
    const last = datagrams.at(-1)!
    if (last !== '' && last.length + line.length >= DATAGRAM_BYTES) datagrams.push(line)
    else datagrams[datagrams.length - 1] = last === '' ? line : `${last}\n${line}`
  }
  return datagrams.map((text) => ({ url, headers: {}, body: Buffer.from(text) }))
}

/** Returns the messages that bring these metrics to a receiver. */
export const metricMessages = (receiver: Receiver, samples: readonly MetricSample[], now: Date): readonly Message[] => {
  const { type, endpoint, config } = receiver
  if (type === 'statsd') return statsd(withPort(receiver), config, samples)
  if (type === 'opentelemetry') return [json(withPath(endpoint, '/v1/metrics'), signIn(config), otlp(samples, now))]
  if (type === 'datadog') {
    const timestamp = Math.floor(now.getTime() / 1000)
    const body = samples.map(({ name, labels, value }) => ({
      metric: name.replace('_', '.'),
      type: 3,
      points: [{ timestamp, value }],
      tags: tagsOf(labels),
    }))
    const headers = { 'dd-api-key': String(config.api_key ?? '') }
    return [json(withPath(endpoint, '/api/v2/series'), headers, { series: body })]
  }
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
    ...signIn(config),
  }
  const body = snappy(Buffer.concat(samples.map((sample) => series(sample, now))))
  return [{ url: withPath(endpoint, '/api/v1/write'), headers, body }]
}
