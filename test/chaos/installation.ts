import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import { seededRandom } from '../../src/sdk/trainers/random.ts'
import { builtFile } from '../e2e/built-program.ts'
import { freePort, postgresBinaries, unprivilegedUser } from '../postgres-program.ts'
import { type Program, superviseProgram } from './program.ts'
import { type ResettingProxy, type StoreProxy, startStoreProxy, startTcpProxy } from './proxies.ts'

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const PYTHON = '/usr/bin/python3'
const STORE_KEYS = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' }
const DISK = '300m'
const READY_MS = 120_000

/** A fault that cannot be injected on this machine. */
export interface Lacking {
  readonly what: string
  readonly why: string
}

export interface Service extends Program {
  readonly url: string
  /** Shifts its clock forward or back; 0 resets it. */
  setClock(seconds: number): void
}

export interface Installation {
  /** The address for agents and operators. */
  readonly url: string
  /** Bypasses all faults: for checks. */
  readonly databaseUrl: string
  readonly services: readonly Service[]
  /** null if the server is not ours. */
  readonly postgres: Program | null
  readonly store: { readonly program: Program; readonly proxy: StoreProxy } | null
  readonly balancer: Program | null
  readonly toDatabase: ResettingProxy
  readonly toService: ResettingProxy
  /** A separate file system that can be filled; null if it is the machine's. */
  readonly disk: string | null
  readonly hasClocks: boolean
  readonly lacking: readonly Lacking[]
  readonly logs: string
  /** Resolves when every process reports that it is ready. */
  ready(): Promise<void>
  close(): Promise<void>
}

const canRun = (command: string, ...argv: string[]): boolean => spawnSync(command, argv).status === 0

const untilItWorks = async <Result>(work: () => Promise<Result>, what: string): Promise<Result> => {
  for (const deadline = Date.now() + READY_MS; ; await wait(100)) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what} does not start: ${(error as Error).message}`)
    }
  }
}

const startPostgres = async (root: string): Promise<{ program: Program; port: number }> => {
  const binaries = postgresBinaries()
  if (binaries === undefined) throw new Error('PostgreSQL is not installed.')
  const user = unprivilegedUser()
  const folder = join(root, 'postgres')
  mkdirSync(folder)
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  const initdb = spawnSync(join(binaries, 'initdb'), options, { ...user, cwd: folder, encoding: 'utf8' })
  if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stderr || initdb.error}`)
  const port = await freePort()
  // Only processes are killed, not the machine, so data passed to the system is not lost.
  const settings = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
  const program = superviseProgram({
    name: 'PostgreSQL',
    command: join(binaries, 'postgres'),
    argv: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    user,
    cwd: folder,
    log: join(root, 'postgres.log'),
  })
  const admin = await untilItWorks(async () => {
    const client = new pg.Client(`postgres://postgres@127.0.0.1:${port}/postgres`)
    await client.connect()
    return client
  }, 'PostgreSQL')
  await admin.query('create database fleet')
  await admin.end()
  return { program, port }
}

const startStore = async (root: string, seed: number) => {
  const folder = join(root, 'store')
  mkdirSync(folder)
  const port = await freePort()
  const program = superviseProgram({
    name: 'Swift',
    command: PYTHON,
    argv: [fileURLToPath(new URL('../fixtures/swift/serve.py', import.meta.url)), folder, String(port)],
    cwd: folder,
    log: join(root, 'store.log'),
    hasInput: true,
  })
  Object.assign(process.env, STORE_KEYS)
  const client = new S3Client({ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', forcePathStyle: true })
  await untilItWorks(() => client.send(new CreateBucketCommand({ Bucket: 'weights' })), 'Swift')
  client.destroy()
  return { program, proxy: await startStoreProxy(port, seededRandom(seed)) }
}

const startBalancer = (root: string, ports: readonly number[], port: number): Program => {
  const file = new URL('../../deploy/haproxy/haproxy.cfg', import.meta.url)
  const servers = ports.map((each, n) => `    server s${n} 127.0.0.1:${each}`).join('\n')
  const text = readFileSync(file, 'utf8')
    .replace('maxconn 20000', 'maxconn 2000')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace(/( {4}server .*\n?)+$/, `${servers}\n`)
  const config = join(root, 'haproxy.cfg')
  writeFileSync(config, text)
  return superviseProgram({
    name: 'HAProxy',
    command: 'haproxy',
    argv: ['-db', '-f', config],
    cwd: root,
    log: join(root, 'haproxy.log'),
  })
}

/** Mounts an in-memory file system as the data folder, so that it can be filled. */
const mountDisk = (folder: string): boolean => {
  mkdirSync(folder)
  return process.getuid?.() === 0 && canRun('mount', '-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder)
}

export interface InstallationOptions {
  readonly processes: number
  readonly seed: number
  /** An existing database. Then there is no object store or balancer, which take as long to start as everything else. */
  readonly databaseUrl?: string | undefined
  /** A built service other than that of these sources. */
  readonly program?: string
}

/** Starts PostgreSQL, an object store, the given number of processes, and a balancer; reports what is not available here. */
export const startInstallation = async ({
  processes,
  seed,
  databaseUrl: given,
  program: other,
}: InstallationOptions): Promise<Installation> => {
  const root = mkdtempSync(join(tmpdir(), 'tributary-chaos-'))
  // PostgreSQL runs as a different user, in a folder inside this one.
  chmodSync(root, 0o711)
  const lacking: Lacking[] = []
  const has = (what: string, isThere: boolean, why: string): boolean => {
    if (!isThere) lacking.push({ what, why })
    return isThere
  }
  const data = join(root, 'data')
  const isDisk = has('full disks', mountDisk(data), 'only root mounts a file system')
  const isWhole = given === undefined
  const hasStore =
    isWhole && has('the object store', canRun(PYTHON, '-c', 'import eventlet, swift.proxy.server'), 'no Swift')
  const hasBalancer = isWhole && has('the balancer', canRun('haproxy', '-v'), 'no HAProxy')
  const hasClocks = has('clock jumps', existsSync(FAKETIME), 'no libfaketime')

  const own = isWhole ? await startPostgres(root) : null
  const database = new URL(given ?? `postgres://postgres@127.0.0.1:${own!.port}/fleet`)
  const store = hasStore ? await startStore(root, seed) : null
  const toDatabase = await startTcpProxy(Number(database.port))
  const disturbed = new URL(database)
  disturbed.port = String(toDatabase.port)
  const program = other ?? (await builtFile('main.js'))
  const startService = async (n: number): Promise<Service> => {
    const port = await freePort()
    const clock = join(root, `clock-${n}`)
    writeFileSync(clock, '+0\n')
    const service = superviseProgram({
      name: `service ${n}`,
      command: process.execPath,
      argv: ['--liftoff-only', program],
      env: {
        ...STORE_KEYS,
        ...(store && {
          SERVICE_STORAGE_URL: `s3://weights/fleet?endpoint=http://127.0.0.1:${store.proxy.port}&region=us-east-1`,
        }),
        ...(hasClocks && {
          LD_PRELOAD: FAKETIME,
          FAKETIME_TIMESTAMP_FILE: clock,
          FAKETIME_NO_CACHE: '1',
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
        }),
        SERVICE_DATA_DIR: data,
        SERVICE_DATABASE_URL: disturbed.href,
        SERVICE_PORT: String(port),
        SERVICE_LOG_LEVEL: 'warn',
        SERVICE_RATE_LIMIT_PER_MINUTE: '1000000',
        SERVICE_STRAGGLER_GRACE_SECONDS: '3',
        SERVICE_TRUST_PROXY: '127.0.0.1',
      },
      cwd: root,
      log: join(root, `service-${n}.log`),
    })
    const setClock = (seconds: number): void => writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    return { ...service, url: `http://127.0.0.1:${port}`, setClock }
  }
  const services: Service[] = []
  for (let n = 0; n < processes; n++) services.push(await startService(n))
  const ports = services.map(({ url }) => Number(new URL(url).port))
  const balancerPort = await freePort()
  const balancer = hasBalancer ? startBalancer(root, ports, balancerPort) : null
  const toService = await startTcpProxy(hasBalancer ? balancerPort : ports[0]!)
  const url = `http://127.0.0.1:${toService.port}`
  return {
    url,
    databaseUrl: database.href,
    services,
    postgres: own?.program ?? null,
    store,
    balancer,
    toDatabase,
    toService,
    disk: isDisk ? data : null,
    hasClocks,
    lacking,
    logs: root,
    ready: async () => {
      for (const each of [...services.map((service) => service.url), url]) {
        await untilItWorks(async () => {
          const { status } = await fetch(`${each}/ready`, { signal: AbortSignal.timeout(5000) })
          if (status !== 200) throw new Error(`it answers ${status}`)
        }, each)
      }
    },
    close: async () => {
      await Promise.all(services.map((service) => service.close('SIGTERM')))
      await balancer?.close('SIGTERM')
      await store?.program.close('SIGKILL')
      await own?.program.close('SIGINT')
      for (const proxy of [toDatabase, toService, store?.proxy]) proxy?.close()
      if (isDisk) spawnSync('umount', ['-l', data])
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
