import { AggregationWorkers } from '../src/aggregation/aggregation-workers.ts'
import { type ApiClient, createClient } from '../src/client/client.ts'
import { type Config, readConfig } from '../src/config.ts'
import { createControlPlane, type Service } from '../src/control/app.ts'
import { Accounting } from '../src/control/federations/accounting/accounting.ts'
import type { Database } from '../src/platform/db/open.ts'
import {
  closeWithTest,
  emptyFolder,
  freshDataDir,
  freshPostgresUrl,
  hasPostgres,
  openTestDatabase,
} from './databases.ts'

export interface TestResponse {
  readonly status: number
  /** Parsed JSON; null for an empty body. */
  readonly body: unknown
  readonly headers: Headers
}

export interface TestDevice {
  /** Internal id. */
  readonly id: string
  readonly deviceId: string
  readonly key: string
}

/** A whole service with real parts: HTTP on a loopback port, a database, and files. Only its clock stands still. */
export interface World {
  /** With the admin key that its start has created, if any. */
  readonly service: Service & { readonly firstAdminKey: string | null }
  readonly baseUrl: string
  readonly dataDir: string
  /** For setups that would take thousands of requests; null if the world is durable, with its own database. */
  readonly database: Database | null
  now(): Date
  /** Moves the clock and runs due tasks. */
  advance(seconds: number): Promise<void>
  client(key?: string): ApiClient
  /** Sends any request, well-formed or not. A plain object is sent as JSON. */
  request(method: string, path: string, options?: RequestOptions): Promise<TestResponse>
  register(deviceId: string, fields?: object): Promise<TestDevice>
  /** Restarts the service on the same data, optionally with changed settings, and after this time. */
  restart(changed?: Partial<Config>, seconds?: number): Promise<void>
}

export interface RequestOptions {
  readonly key?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface WorldOptions {
  /** PostgreSQL by default, which needs less CPU time; embedded if there is no server, and for a durable world. */
  readonly database?: 'embedded' | 'postgres'
  readonly config?: Partial<Config>
  /** Uses a separate database that survives a restart; others share one per file, emptied in between. */
  readonly durable?: boolean
  /** The seed for draws in private rounds; the operating system's random source by default. */
  readonly drawSeed?: () => Uint8Array
  /** Separate threads; shared by all worlds of the process by default. */
  readonly workers?: AggregationWorkers
  /** The built dashboard; none by default. */
  readonly webFolder?: string
  /** Its clock is the machine's, for agents and operators that wait. Then there is nothing to advance. */
  readonly isRealTime?: boolean
}

// Starting a thread from .ts files takes a second: all services of a process share these, which end with it.
const workers = new AggregationWorkers()
const accounting = new Accounting()

/** The service is closed when the test ends, or after the file if `beforeAll` started it. */
export const startWorld = async (options: WorldOptions = {}): Promise<World> => {
  const { durable = false, database: kind = durable || !hasPostgres() ? 'embedded' : 'postgres' } = options
  const dataDir = durable && kind === 'embedded' ? await freshDataDir() : await emptyFolder()
  let config: Config = {
    ...readConfig({ SERVICE_LOG_LEVEL: 'error', SERVICE_RATE_LIMIT_PER_MINUTE: '1000000', SERVICE_CONVERSIONS: 'off' }),
    ...options.config,
    dataDir,
    databaseUrl: durable && kind === 'postgres' ? await freshPostgresUrl() : null,
    port: 0,
  }
  let time = Date.UTC(2026, 0, 1)
  const now = () => new Date(options.isRealTime ? Date.now() : time)
  const database = durable ? null : await openTestDatabase(kind)
  const start = async () => {
    const started = await createControlPlane(config, {
      now,
      workers: options.workers ?? workers,
      accounting,
      webFolder: options.webFolder ?? null,
      ...(database && { database }),
      ...(options.drawSeed && { drawSeed: options.drawSeed }),
    })
    const baseUrl = await started.app.listen({ host: config.host, port: 0 })
    return { service: { ...started, firstAdminKey: await started.createFirstAdminKey() }, baseUrl }
  }
  let { service, baseUrl } = await start()
  closeWithTest(() => service.close())

  const request: World['request'] = async (method, path, { key, body, headers = {} } = {}) => {
    const isJson = typeof body === 'object' && body !== null && !(body instanceof FormData) && !(body instanceof Blob)
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as BodyInit) }),
    })
    const text = await response.text()
    const isAnswerJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: response.status,
      body: text === '' ? null : isAnswerJson ? JSON.parse(text) : text,
      headers: response.headers,
    }
  }

  return {
    get service() {
      return service
    },
    get baseUrl() {
      return baseUrl
    },
    dataDir,
    database,
    now,
    request,
    async advance(seconds) {
      time += seconds * 1000
      await service.runDueTasks()
    },
    client: (key) => createClient({ baseUrl, apiKey: key }),
    async register(deviceId, fields = {}) {
      const { status, body } = await request('POST', '/api/v1/devices/register', {
        body: { device_id: deviceId, ...fields },
      })
      if (status !== 201) throw new Error(`registering ${deviceId} was answered with ${status}`)
      const registered = body as { id: string; api_key: string }
      return { id: registered.id, deviceId, key: registered.api_key }
    },
    async restart(changed = {}, seconds = 0) {
      if (!durable) throw new Error('Only a durable world can be restarted.')
      await service.close()
      time += seconds * 1000
      config = { ...config, ...changed }
      ;({ service, baseUrl } = await start())
    },
  }
}

/** Returns a function that calls the API with `key`, unless it gets another. */
export const apiOf =
  <Body = Record<string, unknown>>(world: World, key: string | undefined) =>
  async (method: string, path: string, body?: unknown, as = key): Promise<{ status: number; body: Body }> => {
    const response = await world.request(method, `/api/v1${path}`, { key: as, body })
    return { status: response.status, body: response.body as Body }
  }

/** Returns a multipart body with one file and text fields. */
export const formOf = (
  file: Uint8Array | string,
  fields: Readonly<Record<string, string | number>> = {},
  name = 'weights.bin',
): FormData => {
  const form = new FormData()
  for (const [field, value] of Object.entries(fields)) form.set(field, String(value))
  form.set('file', new Blob([file as BlobPart]), name)
  return form
}
