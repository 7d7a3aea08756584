import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { until } from '../../../../test/e2e/service-process.ts'
import { freePort } from '../../../../test/postgres-program.ts'
import { formOf, startWorld, type World } from '../../../../test/world.ts'

const RSYSLOG = '/usr/sbin/rsyslogd'

/** True if the program is installed; warns if it is not. */
const has = (program: string): boolean => {
  const isInstalled = program.startsWith('/')
    ? existsSync(program)
    : spawnSync(program, ['--version']).error === undefined
  if (!isInstalled) console.warn(`\nSKIPPED: the tests with ${program}, which is not installed.\n`)
  return isInstalled
}

const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const ask = async (path: string, body: unknown) => {
    const response = await world.request('POST', `/api/v1${path}`, { key, body })
    if (response.status >= 300) throw new Error(JSON.stringify(response.body))
    return response.body as { readonly id: string }
  }
  return { world, ask }
}

const run = (program: string, argv: readonly string[]): ChildProcess => {
  const child = spawn(program, argv, { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const isReady = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

/** Tests a new integration until the receiver, which is just starting, accepts the sample. */
const connect = async (ask: Awaited<ReturnType<typeof start>>['ask'], integration: object): Promise<void> => {
  const { id } = await ask('/integrations', integration)
  await until(
    () => ask(`/integrations/${id}/test`, {}) as Promise<unknown> as Promise<{ ok: boolean }>,
    ({ ok }) => ok,
  )
}

/** Advances the service's clock minute by minute, until the condition holds. */
const advanceUntil = <Seen>(world: World, look: () => Promise<Seen>, wanted: (seen: Seen) => boolean): Promise<Seen> =>
  until(async () => {
    await world.advance(60)
    return look()
  }, wanted)

it.skipIf(!has(RSYSLOG))(
  'rsyslog reads events and audit entries as RFC 5424 over TCP (skipped without rsyslog)',
  async () => {
    const { world, ask } = await start()
    const [folder, port] = [await emptyFolder(), await freePort()]
    const log = join(folder, 'log')
    const config = `module(load="imtcp")
input(type="imtcp" port="${port}" address="127.0.0.1")
template(name="fields" type="list") {
  property(name="protocol-version") constant(value=" ") property(name="pri") constant(value=" ") property(name="app-name")
  constant(value=" ") property(name="msgid") constant(value=" ") property(name="structured-data") constant(value=" ")
  property(name="msg") constant(value="\\n") }
*.* action(type="omfile" file="${log}" template="fields")
`
    await writeFile(join(folder, 'conf'), config)
    run(RSYSLOG, ['-n', '-f', join(folder, 'conf'), '-i', join(folder, 'pid')])
    await connect(ask, { type: 'syslog', endpoint: `tcp://127.0.0.1:${port}`, topics: ['group', 'audit'] })
    const name = 'umlauts äö, "quotes" ] and \\ 日本'
    const { id } = await ask('/device-groups', { org_id: 'o', name })
    const lines = await advanceUntil(
      world,
      async () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []),
      (seen) => seen.some((line) => line.includes('audit.createGroup')),
    )
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^1 134 tributary group\\.changed \\[event@32473 .*subject="${id}".*\\] {}$`)),
    )
    const entry = lines.find((line) => line.includes('audit.createGroup'))!
    expect(JSON.parse(entry.slice(entry.indexOf('] {') + 2))).toMatchObject({ object_id: id, object_name: name })
  },
)

/** The dashboard's queries, with variables replaced as in Grafana. */
const dashboardQueries = (): readonly string[] => {
  const text = readFileSync('deploy/grafana/tributary.json', 'utf8')
  return [...text.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, expr]) =>
    (JSON.parse(expr!) as string).replace(/\$__rate_interval|\$__interval|\$__range/g, '5m'),
  )
}

const STORES = {
  'victoria-metrics': (port: number, folder: string) => ({
    argv: [
      `-httpListenAddr=127.0.0.1:${port}`,
      `-storageDataPath=${folder}`,
      '-search.latencyOffset=0s',
      '-retentionPeriod=100y',
    ],
    ready: '/health',
  }),
  prometheus: (port: number, folder: string) => ({
    argv: [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-remote-write-receiver',
    ],
    ready: '/-/ready',
  }),
} as const

it.each(Object.keys(STORES) as (keyof typeof STORES)[])(
  'metrics reach %s by remote write, and it understands every query of the dashboard (skipped without it)',
  async (program) => {
    if (!has(program)) return
    const { world, ask } = await start()
    const [folder, port] = [await emptyFolder(), await freePort()]
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'prometheus.yml'), 'scrape_configs: []\n')
    const { argv, ready } = STORES[program](port, folder)
    run(program, argv)
    const url = `http://127.0.0.1:${port}`
    await until(() => isReady(`${url}${ready}`), Boolean)
    await connect(ask, { type: 'prometheus', endpoint: url })
    await ask('/models', { name: 'm' })
    await ask('/models/m/versions/upload', formOf(new Uint8Array(8)))
    // The service's clock advances for hours until the receiver is ready: no step of the rollout comes in between.
    await ask('/models/m/rollouts', { version: '1', rollout_percentage: 30, step_interval_minutes: 10_080 })
    const query = async (expr: string) => {
      const time = world.now().getTime() / 1000
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr, time: String(time) })}`)
      return (await response.json()) as {
        status: string
        error?: string
        data: { result: { metric: object; value: [number, string] }[] }
      }
    }
    const expr = 'tributary_rollout_percentage{version="1"}'
    const { data } = await advanceUntil(
      world,
      () => query(expr),
      (seen) => seen.status === 'success' && seen.data.result.length > 0,
    )
    expect(data.result.map(({ value }) => value[1])).toEqual(['30'])
    const queries = dashboardQueries()
    expect(queries.length).toBeGreaterThan(10)
    for (const one of queries) expect(await query(one)).toMatchObject({ status: 'success' })
    const { data: devices } = await advanceUntil(
      world,
      () => query('max by (state) (sum by (state) (tributary_devices))'),
      (seen) => seen.data.result.length > 0,
    )
    expect(devices.result).toHaveLength(2)
  },
)
