// How latencies grow from 1,000 to 1,000,000 devices on PostgreSQL. BENCH_DEVICES=1000,100000 sets other sizes.
import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { composeKey } from '../../src/domain/api-key.ts'
import { buildProgram } from './built-program.ts'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { median, printTable, quantile } from './figures.ts'
import { DEVICES_PATH, type FleetDevice, heartbeatOf, ORGANIZATION } from './fleet.ts'
import { type Call, type LoadGenerator, startLoadGenerator } from './load.ts'
import { type PostgresCluster, startCluster } from './postgres-cluster.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'
import { startRound } from './started-round.ts'

const REQUESTS = 40
/** Requests before the measurement, so that the code is compiled and the pages are read. */
const WARM_UP = 5
const ROUNDS = 40
/** Devices whose keys are known here, evenly distributed over the fleet. */
const SPREAD = 20_000
const HEARTBEAT_SECONDS = 5
const TURNS = 3

interface Side {
  readonly service: ServiceUnderTest
  readonly devices: number
  readonly fleet: readonly FleetDevice[]
  readonly group: string
}

/** Prints the 95th percentile of each kind of request, and heartbeats per second, for each fleet size. */
export const benchScale = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const load = startLoadGenerator(cleanUps)
    const cluster = await startCluster(cleanUps)
    if (cluster === null) return
    const sizes = (process.env.BENCH_DEVICES ?? '1000,100000,1000000').split(',').map(Number)
    const sides: Side[] = []
    for (const devices of sizes) sides.push(await prepare(cleanUps, cluster, devices))
    await heartbeats(load, sides)

    const rows: string[][] = []
    for (const [name, callOf] of Object.entries(requests())) {
      const cells: string[] = []
      for (const side of sides) cells.push(await timesOf(load, side, callOf))
      rows.push([name, ...cells])
    }
    rows.push(['round start, target 100'])
    for (const side of sides) {
      const times: number[] = []
      for (let n = 0; n < WARM_UP + ROUNDS; n++) times.push(await startRound(side.service, any(side.fleet).key, 100))
      rows.at(-1)!.push(formatTimes(times.slice(WARM_UP)))
    }
    printTable(['ms: median, p95', ...sizes.map((devices) => `${devices} devices`)], rows)
  })

const any = (fleet: readonly FleetDevice[]): FleetDevice => fleet[Math.floor(Math.random() * fleet.length)]!

const formatTimes = (times: readonly number[]): string =>
  `${median(times).toFixed(1)}, ${quantile(times, 0.95).toFixed(1)}`

/** Writes rows like those of a registration, for devices with a heartbeat within the last minute. */
const prepare = async (cleanUps: CleanUps, cluster: PostgresCluster, devices: number): Promise<Side> => {
  const url = await cluster.newDatabase()
  const service = await startProgram(cleanUps, {
    name: `${devices}`,
    program: buildProgram().service,
    settings: { SERVICE_STRAGGLER_GRACE_SECONDS: '0', SERVICE_DATABASE_URL: url },
  })
  const db = new pg.Client(url)
  await db.connect()
  const started = performance.now()
  await db.query(
    `insert into devices (id, device_id, org_id, platform, capabilities, status, metrics, last_heartbeat, created_at, updated_at)
     select gen_random_uuid(), 'device-' || n, $2, 'linux', '{"ram_gb": 8}', 'active', '{"battery_level": 0.8}',
       now() + random() * interval '5 minutes', at, at
     from generate_series(1, $1::int) n, lateral (select now() - interval '1 day' + n * interval '10 milliseconds' as at) t`,
    [devices, ORGANIZATION],
  )
  await db.query('insert into device_counts (org_id, devices) values ($1, $2)', [ORGANIZATION, devices])
  await db.query(
    `insert into keys (id, name, prefix, hash, grants, org_id, device_id, created_at)
     select gen_random_uuid(), device_id, 'sk_live_', encode(sha256(device_id::bytea), 'hex'), '{self}', org_id, id, created_at
     from devices`,
  )
  const step = Math.max(1, Math.floor(devices / SPREAD))
  const fleet = Array.from({ length: Math.min(devices, SPREAD) }, (_, n) => ({
    name: `device-${1 + n * step}`,
    key: composeKey(randomBytes),
  }))
  await db.query(
    `update keys k set hash = f.hash from unnest($1::text[], $2::text[]) as f (name, hash)
     where k.hash = encode(sha256(f.name::bytea), 'hex')`,
    [fleet.map(({ name }) => name), fleet.map(({ key }) => createHash('sha256').update(key).digest('hex'))],
  )
  const group = await db.query<{ id: string }>(
    `insert into device_groups (id, org_id, name, description, group_type, tags, created_at, device_count)
     values (gen_random_uuid(), $1, 'tenth', '', 'static', '{}', now(), $2) returning id`,
    [ORGANIZATION, Math.floor(devices / 10)],
  )
  await db.query(
    `insert into device_group_members (group_id, device_id, added_at)
     select $1, id, created_at from devices where ordinal % 10 = 0`,
    [group.rows[0]!.id],
  )
  await db.query('vacuum analyze')
  await db.end()
  console.log(`${devices} devices were written in ${((performance.now() - started) / 1000).toFixed(0)} s`)
  return { service, devices, fleet, group: group.rows[0]!.id }
}

const heartbeats = async (load: LoadGenerator, sides: readonly Side[]): Promise<void> => {
  const perSecond = sides.map((): number[] => [])
  const p99 = sides.map((): number[] => [])
  // The first turn is a warm-up.
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const [at, { service, fleet }] of sides.entries()) {
      const calls = fleet.map(heartbeatOf)
      const seconds = HEARTBEAT_SECONDS
      const run = await load.run({ port: service.port, connections: 256, calls, seconds })
      if (turn === 0) continue
      perSecond[at]!.push(run.latenciesMs.length / run.seconds)
      p99[at]!.push(quantile(run.latenciesMs, 0.99))
    }
  }
  const first = median(perSecond[0]!)
  printTable(
    ['heartbeats, 256 connections', 'per second', `of ${sides[0]!.devices}`, 'p99 ms'],
    sides.map(({ devices }, at) => {
      const rate = median(perSecond[at]!)
      return [`${devices} devices`, rate.toFixed(0), (rate / first).toFixed(2), median(p99[at]!).toFixed(0)]
    }),
  )
}

const requests = (): Record<string, (side: Side) => string> => ({
  'list, first page': () => `${DEVICES_PATH}&limit=100`,
  'list, a page in the middle': ({ devices }) => `${DEVICES_PATH}&limit=100&offset=${devices / 2}`,
  'list, active ones': () => `${DEVICES_PATH}&limit=100&status=active`,
  'search by part that finds 1': ({ devices }) => `/api/v1/fleet/devices?q=vice-${devices - 1}`,
  'search by part that finds a tenth': () => '/api/v1/fleet/devices?q=vice-1',
  'search by part that finds the last tenth': () => '/api/v1/fleet/devices?q=vice-9',
  'search by part that finds all': () => '/api/v1/fleet/devices?q=vice',
  'search that finds nothing': () => '/api/v1/fleet/devices?q=nothing',
  'fleet by last heartbeat': () => '/api/v1/fleet/devices?sort=last_seen&order=desc',
  'fleet summary': () => '/api/v1/fleet/summary',
  'GET /status': () => '/api/v1/status',
  "a group's first members": ({ group }) => `/api/v1/device-groups/${group}/devices?limit=100`,
  "a group's members in the middle": ({ group, devices }) =>
    `/api/v1/device-groups/${group}/devices?limit=100&offset=${Math.floor(devices / 20)}`,
})

const timesOf = async (load: LoadGenerator, side: Side, pathOf: (side: Side) => string): Promise<string> => {
  const call: Call = { method: 'GET', path: pathOf(side), key: side.fleet[0]!.key }
  const run = (count: number) =>
    load.run({ port: side.service.port, connections: 1, calls: Array.from({ length: count }, () => call) })
  await run(WARM_UP)
  return formatTimes((await run(REQUESTS)).latenciesMs)
}
