import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../src/config.ts'
import { createControlPlane, type Service } from '../src/control/app.ts'
import { emptyFolder, freshPostgresUrl, hasPostgres } from './databases.ts'
import { freePort } from './postgres-program.ts'
import { formOf } from './world.ts'

// The files of deploy/ with Debian's programs, in front of two processes on one PostgreSQL server.

interface Balancer {
  readonly file: string
  /** Adapts the file's text for the test. */
  configure(text: string, folder: string): string
  argv(config: string): readonly string[]
}

const BALANCERS: Readonly<Record<string, Balancer>> = {
  haproxy: {
    file: 'deploy/haproxy/haproxy.cfg',
    configure: (text) => text.replace('maxconn 20000', 'maxconn 2000'),
    argv: (config) => ['-db', '-f', config],
  },
  nginx: {
    file: 'deploy/nginx/tributary-cluster.conf',
    configure: (text, folder) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      return `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log ${folder}/log;
        events {} http { access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
        ${text} }`
    },
    argv: (config) => ['-c', config, '-e', `${config}.log`],
  },
}

const isInstalled = (program: string): boolean => spawnSync(program, ['-v']).status === 0

const startProcesses = async (): Promise<{ services: Service[]; ports: number[] }> => {
  const config = {
    ...readConfig({
      SERVICE_LOG_LEVEL: 'error',
      SERVICE_RATE_LIMIT_PER_MINUTE: '1000000',
      SERVICE_DRAIN_SECONDS: '600',
    }),
    databaseUrl: await freshPostgresUrl(),
    dataDir: await emptyFolder(),
  }
  const services = [await createControlPlane(config), await createControlPlane(config)]
  onTestFinished(async () => {
    for (const service of services) {
      void service.close()
      await service.close()
    }
  })
  for (const { app } of services) await app.listen({ host: '127.0.0.1', port: 0 })
  return { services, ports: services.map(({ app }) => (app.server.address() as AddressInfo).port) }
}

const startBalancer = async (name: string, ports: readonly number[]): Promise<string> => {
  const { file, configure, argv } = BALANCERS[name]!
  const folder = await emptyFolder()
  const port = await freePort()
  const text = readFileSync(file, 'utf8')
    .replace(/^.*10\.0\.0\.13:8000.*$/m, '')
    .replace('10.0.0.11:8000', `127.0.0.1:${ports[0]}`)
    .replace('10.0.0.12:8000', `127.0.0.1:${ports[1]}`)
    .replace(
      /(bind |listen )(127\.0\.0\.1)?:?8080/,
      name === 'nginx' ? `listen 127.0.0.1:${port}` : `bind 127.0.0.1:${port}`,
    )
  const config = join(folder, 'balancer.conf')
  writeFileSync(config, configure(text, folder))
  const child = spawn(name, argv(config), { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr?.on('data', (bytes) => (output += bytes))
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} does not start: ${output}`)
    const response = await fetch(`${url}/ready`).catch(() => null)
    if (response?.ok) return url
    await wait(50)
  }
}

for (const name of Object.keys(BALANCERS)) {
  if (!isInstalled(name)) console.warn(`SKIPPED: deploy/ with ${name}, which is not installed.`)
}

it.each(Object.keys(BALANCERS).filter((name) => hasPostgres() && isInstalled(name)))(
  'behind %s, no request fails while one of two processes stops',
  async (name) => {
    const { services, ports } = await startProcesses()
    const url = await startBalancer(name, ports)
    const device = await fetch(`${url}/api/v1/devices/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ device_id: 'd', org_id: 'o' }),
    })
    const { api_key: key } = (await device.json()) as { api_key: string }
    const headers = { authorization: `Bearer ${key}` }
    const beat = (query = '') => fetch(`${url}/api/v1/devices/d/heartbeat${query}`, { method: 'PUT', headers })

    // An upload larger than any buffer of a balancer; the same bytes come back.
    const bytes = new Uint8Array(5_000_000).map((_, n) => n % 251)
    const json = { ...headers, 'content-type': 'application/json' }
    const model = await fetch(`${url}/api/v1/models`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ name: 'm', framework: 'pytorch' }),
    })
    expect(model.status).toBe(201)
    const versions = `${url}/api/v1/models/m/versions`
    const uploaded = await fetch(`${versions}/upload`, { method: 'POST', headers, body: formOf(bytes) })
    expect(uploaded.status).toBe(201)
    const download = await fetch(`${versions}/1/download`, { headers })
    // Compared as a Buffer: an assertion on five million elements takes minutes.
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)

    // A waiting heartbeat on each process, and an event stream.
    const held = Promise.all([beat('?wait_seconds=55'), beat('?wait_seconds=55')])
    const stream = await fetch(`${url}/api/v1/events`, { headers: { ...headers, accept: 'text/event-stream' } })
    expect(stream.status).toBe(200)
    const reader = stream.body!.getReader()
    const started = await fetch(`${url}/api/v1/training/rounds/start`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ target_devices: 1, min_devices: 1, org_id: 'o' }),
    })
    expect(started.status).toBe(201)
    for (const response of await held) expect(await response.json()).toHaveProperty('pending_round_id')
    let told = ''
    while (!told.includes('round.started')) told += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()

    // Sends requests continuously until the process has closed; HAProxy or a refused connection diverts them from it.
    let stopping = true
    const statuses: number[] = []
    const busy = Array.from({ length: 8 }, async () => {
      while (stopping) statuses.push((await beat().catch(() => null))?.status ?? 0)
    })
    const closing = services[0]!.close()
    if (name === 'haproxy') await untilTurnedAway(services[0]!)
    void services[0]!.close()
    await closing
    const after = statuses.length
    while (statuses.length < after + 50) await wait(10)
    stopping = false
    await Promise.all(busy)
    expect(new Set(statuses)).toEqual(new Set([200]))
    console.log(`${name}: ${statuses.length} heartbeats while a process stopped, all answered 200`)
  },
)

/** Resolves when a stopping process has had three readiness checks without a request in between. */
const untilTurnedAway = async ({ app }: Service): Promise<void> => {
  let checks = 0
  let requests = 0
  app.server.on('request', (request) => {
    if (request.url !== '/ready') requests++
    else if (requests > 0) {
      requests = 0
      checks = 0
    } else checks++
  })
  while (checks < 3) await wait(20)
}
