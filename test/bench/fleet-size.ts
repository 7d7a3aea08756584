// Whether 100,000 registered devices slow down what 1,000 do not: two services, measured alternately.
import { buildProgram } from './built-program.ts'
import { type CleanUps, withCleanUps } from './clean-ups.ts'
import { median, pairwise, printTable, quantile } from './figures.ts'
import { DEVICES_PATH, type FleetDevice, heartbeatOf, registerFleet } from './fleet.ts'
import { type Call, type LoadGenerator, startLoadGenerator } from './load.ts'
import { startCluster } from './postgres-cluster.ts'
import { type ServiceUnderTest, startProgram } from './service-under-test.ts'
import { startRound } from './started-round.ts'

const SMALL = 1000
const LARGE = 100_000
const ROUNDS = 15
/** Requests of one kind to one service before switching to the other. */
const TURN = 20
/** Turns before the measurement, so that the code is compiled. */
const WARM_UP = 5
/** Round starts per turn: each waits for its round to end. */
const STARTS = 3
const PAGE = 100

interface Side {
  readonly service: ServiceUnderTest
  readonly fleet: readonly FleetDevice[]
}

/** Prints the median latency of each kind of request with either fleet, and the ratio, on both databases. */
export const benchFleetSize = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const load = startLoadGenerator(cleanUps)
    await compare(cleanUps, load, 'embedded', async () => ({}))
    const cluster = await startCluster(cleanUps)
    if (cluster === null) return
    await compare(cleanUps, load, 'PostgreSQL', async () => ({ SERVICE_DATABASE_URL: await cluster.newDatabase() }))
  })

const compare = async (
  cleanUps: CleanUps,
  load: LoadGenerator,
  database: string,
  settings: () => Promise<Record<string, string>>,
): Promise<void> => {
  const program = buildProgram().service
  const prepare = async (size: number): Promise<Side> => {
    const service = await startProgram(cleanUps, {
      name: `${database} ${size}`,
      program,
      settings: { SERVICE_STRAGGLER_GRACE_SECONDS: '0', ...(await settings()) },
    })
    const started = performance.now()
    const fleet = await registerFleet(load, service, size)
    const registered = performance.now()
    // Makes all devices active and the tables like those of a live fleet, and gives both services the same amount of work.
    const heartbeats = Array.from({ length: LARGE }, (_, n) => heartbeatOf(fleet[n % size]!))
    await load.run({ port: service.port, connections: 256, calls: heartbeats })
    const beaten = performance.now()
    const seconds = (ms: number): string => (ms / 1000).toFixed(1)
    console.log(
      `${service.name}: registered in ${seconds(registered - started)} s, ${LARGE} heartbeats in ${seconds(beaten - registered)} s`,
    )
    return { service, fleet }
  }
  const small = await prepare(SMALL)
  const large = await prepare(LARGE)

  const rows: string[][] = []
  for (const [name, measure] of Object.entries(measurements(load))) {
    const below: number[] = []
    const above: number[] = []
    for (let turn = 0; turn < WARM_UP; turn++) {
      await measure(small)
      await measure(large)
    }
    for (let round = 0; round < ROUNDS; round++) {
      const largeFirst = round % 2 === 1
      if (largeFirst) above.push(await measure(large))
      below.push(await measure(small))
      if (!largeFirst) above.push(await measure(large))
    }
    const ratios = pairwise(above, below)
    rows.push([
      name,
      median(below).toFixed(2),
      median(above).toFixed(2),
      median(ratios).toFixed(2),
      quantile(ratios, 0.25).toFixed(2),
      quantile(ratios, 0.75).toFixed(2),
    ])
  }
  printTable([`${database}: median ms`, '1,000 devices', '100,000 devices', 'ratio', 'quartile', 'quartile'], rows)
}

/** Each function sends requests of one kind to one service and returns their median latency in ms. */
const measurements = (load: LoadGenerator): Record<string, (side: Side) => Promise<number>> => {
  const oneByOne = (callOf: (side: Side, n: number) => Call) => async (side: Side) => {
    const calls = Array.from({ length: TURN }, (_, n) => callOf(side, n))
    return median((await load.run({ port: side.service.port, connections: 1, calls })).latenciesMs)
  }
  const anyOf = (fleet: readonly FleetDevice[]): FleetDevice => fleet[Math.floor(Math.random() * fleet.length)]!
  const get = (path: (fleet: readonly FleetDevice[]) => string) =>
    oneByOne(({ fleet }) => ({ method: 'GET', path: path(fleet), key: fleet[0]!.key }))
  return {
    heartbeat: oneByOne(({ fleet }) => heartbeatOf(anyOf(fleet))),
    'list, first page': get(() => `${DEVICES_PATH}&limit=${PAGE}`),
    'list, a page in the middle': get((fleet) => `${DEVICES_PATH}&limit=${PAGE}&offset=${fleet.length / 2}`),
    'GET /status': get(() => '/api/v1/status'),
    'round start, target 100': async ({ service, fleet }) => {
      const times: number[] = []
      for (let n = 0; n < STARTS; n++) times.push(await startRound(service, anyOf(fleet).key, 100))
      return median(times)
    },
  }
}
