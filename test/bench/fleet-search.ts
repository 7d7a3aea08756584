// Whether the dashboard's list of 100,000 devices returns each page, search, filter, and order within 200 ms.
import { buildProgram } from './built-program.ts'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { median, printTable, quantile } from './figures.ts'
import { registerFleet } from './fleet.ts'
import { type LoadGenerator, startLoadGenerator } from './load.ts'
import { startCluster } from './postgres-cluster.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'

const DEVICES = 100_000
const REQUESTS = 30
/** Requests before the measurement, so that the code is compiled. */
const WARM_UP = 5
const PAGE = 100
const DEEP_PAGES = 100

const SEARCHES: Readonly<Record<string, string>> = {
  'by name': 'sort=device_id',
  'by name, page 500': 'sort=device_id&deep',
  'by last heartbeat, latest first': 'sort=last_seen&order=desc',
  'by last heartbeat, page 500': 'sort=last_seen&order=desc&deep',
  'by registration, latest first': 'sort=created&order=desc',
  'search that finds 1': 'q=99999',
  'search that finds 11,111': 'q=vice-1',
  'search that finds nothing': 'q=nothing',
  'search, by last heartbeat': 'q=77&sort=last_seen&order=desc',
  'filter by platform': 'platform=linux',
  'filter by status': 'status=active',
}

/** Prints the median and 95th percentile of each kind of request, on both databases. */
export const benchFleetSearch = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const load = startLoadGenerator(cleanUps)
    await measure(cleanUps, load, 'embedded', {})
    const cluster = await startCluster(cleanUps)
    if (cluster === null) return
    await measure(cleanUps, load, 'PostgreSQL', { SERVICE_DATABASE_URL: await cluster.newDatabase() })
  })

const measure = async (
  cleanUps: CleanUps,
  load: LoadGenerator,
  database: string,
  settings: Record<string, string>,
): Promise<void> => {
  const service = await startProgram(cleanUps, { name: database, program: buildProgram().service, settings })
  const [first] = await registerFleet(load, service, DEVICES)
  const { key } = first!
  const timesOf = async (path: string, count: number): Promise<readonly number[]> => {
    const calls = Array.from({ length: count }, () => ({ method: 'GET', path, key }))
    return (await load.run({ port: service.port, connections: 1, calls })).latenciesMs
  }
  const rows: string[][] = []
  const add = async (name: string, path: string): Promise<void> => {
    await timesOf(path, WARM_UP)
    const times = await timesOf(path, REQUESTS)
    rows.push([name, median(times).toFixed(0), quantile(times, 0.95).toFixed(0)])
  }
  for (const [name, query] of Object.entries(SEARCHES)) {
    const deep = query.endsWith('&deep')
    const requested = query.replace('&deep', '')
    const after = deep ? `&after=${await cursorBehind(service, key, requested)}` : ''
    await add(name, `/api/v1/fleet/devices?limit=${PAGE}&${requested}${after}`)
  }
  await add('the summary', '/api/v1/fleet/summary')
  printTable([`${database}, ms`, 'median', 'p95'], rows)
}

/** Returns the cursor after half of the devices. */
const cursorBehind = async (service: ServiceUnderTest, key: string, query: string): Promise<string> => {
  let after = ''
  for (let page = 0; page < DEEP_PAGES; page++) {
    const path = `/api/v1/fleet/devices?limit=500&${query}${after === '' ? '' : `&after=${after}`}`
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    after = ((await response.json()) as { next: string }).next
  }
  return after
}
