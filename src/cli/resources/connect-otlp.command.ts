import { type Command, InvalidArgumentError, Option } from 'commander'
import { isObject } from '../../domain/is-object.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { Failure } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface ConnectOptions extends DataOptions {
  readonly endpoint: string
  readonly name: string
  readonly headersJson?: Readonly<Record<string, string>>
}

const toHeaders = (text: string): Readonly<Record<string, string>> => {
  const value = jsonOrNull(text)
  if (isObject(value)) return value as Record<string, string>
  throw new InvalidArgumentError('It must be a JSON object, such as \'{"x-api-key": "..."}\'.')
}

/** Returns the address of one signal: OTLP's base address, or that of a signal, with the signal's path. */
const endpointOf = (endpoint: string, kind: 'metrics' | 'logs'): string => {
  if (!URL.canParse(endpoint)) return endpoint
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/(\/v1\/(metrics|logs|traces))?\/*$/, '')}/v1/${kind}`
  return url.href
}

/** Creates both integrations, then sends a sample to each, to show whether they work. */
export const define = (command: Command, session: Session): void => {
  command
    .addOption(
      new Option(
        '--endpoint <url>',
        'OTLP/HTTP base URL, without /v1/metrics or /v1/logs, such as http://localhost:4318',
      ).makeOptionMandatory(),
    )
    .option('--name <name>', 'name of both integrations', 'OTLP Collector')
    .option('--headers-json <json>', 'headers of every request', toHeaders)
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ endpoint, name, headersJson, apiBase, json }: ConnectOptions) => {
      const connection = await session.signedIn({ apiBase })
      const config = headersJson === undefined ? {} : { headers: headersJson }
      const connected = []
      for (const [kind, type] of [
        ['metrics', 'opentelemetry'],
        ['logs', 'otlp'],
      ] as const) {
        const created = await connection.request((client) =>
          client.POST('/api/v1/integrations', {
            body: { kind, type, name: `${name} (${kind})`, endpoint: endpointOf(endpoint, kind), config },
          }),
        )
        const path = { integration_id: created.id }
        const test = await connection.request((client) =>
          client.POST('/api/v1/integrations/{integration_id}/test', { params: { path } }),
        )
        connected.push({ ...created, test })
      }
      if (json) session.out.json({ integrations: connected })
      else {
        for (const { kind, name: named, id, test } of connected) {
          session.out.line(`${named} (${id}): ${test.ok ? `a sample of ${kind} was accepted.` : `${test.response}`}`)
        }
      }
      if (connected.some(({ test }) => !test.ok)) {
        throw new Failure('The receiver did not accept the sample. Events are kept and sent once it does.', {
          advice: 'Check the address and the headers, then: svc integrations test <name>',
        })
      }
    })
}
