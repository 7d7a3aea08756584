import { existsSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sizeWords } from '../../domain/sizes.ts'
import { parseStorageUrl } from '../../domain/storage-location.ts'
import { allEngines } from '../../inference/engines/installed-engines.ts'
import { checkKey, KEY_FILES } from '../../platform/files/key-files.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { packageVersion } from '../package-version.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { certificate } from './certificate-check.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { storedData } from './stored-data.ts'

const TIMEOUT_MS = 5000
const CLOCK_WARN_SECONDS = 5
const EXPIRY_WARN_DAYS = 7
const DAY_MS = 24 * 60 * 60 * 1000
const LOW_BYTES = 5e9
const NO_BYTES = 500e6

/** isAtLeast('22.1.0', '20.19') is true. Compares major and minor versions. */
const isAtLeast = (version: string, least: string): boolean => {
  const [one, other] = [version, least].map((text) => text.split('.').map(Number)) as [number[], number[]]
  return one[0]! !== other[0]! ? one[0]! > other[0]! : one[1]! >= (other[1] ?? 0)
}

const root = fileURLToPath(new URL('../../../', import.meta.url))

const node = (): Finding => {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  const least = engines.node.replace('>=', '')
  const { node: version } = process.versions
  if (isAtLeast(version, least)) return ok('Node', version)
  return fail(
    'Node',
    `${version}; the oldest supported version is ${least}`,
    'Install a newer Node: https://nodejs.org',
  )
}

const packageFiles = (): Finding => {
  const files = ['openapi.json', 'models', 'dist/main.js', 'dist/cli/main.js', 'dist/platform/db/embedded/template.bin']
  const missing = files.filter((name) => !existsSync(join(root, name)))
  if (missing.length === 0) return ok('Package', `${packageVersion()} in ${resolve(root)}`)
  if (existsSync(join(root, 'src'))) {
    return warn('Package', `${resolve(root)} is not built`, 'Build it: npm run build')
  }
  return fail('Package', `${missing.join(', ')} missing in ${resolve(root)}`, 'Install it again.')
}

const engines = async ({ io }: Session): Promise<readonly Finding[]> => {
  const all = await allEngines(io.env)
  const [llama, onnx] = ['llama.cpp', 'onnxruntime'].map((name) => all.find((one) => one.name === name)!)
  return [
    llama!.installed
      ? ok('llama.cpp', llama!.where ?? 'installed')
      : warn('llama.cpp', 'not installed: svc run and svc serve cannot run GGUF files', llama!.install),
    onnx!.installed ? ok('onnxruntime', onnx!.where ?? 'installed') : ok('onnxruntime', `optional: ${onnx!.install}`),
  ]
}

const dataFolder = ({ home, io }: Session): string =>
  resolve(io.cwd, io.env.SERVICE_DATA_DIR || join(home.folder, 'data'))

/** The service creates missing keys when it needs them; another user's cannot be checked. */
const keyFiles = (session: Session): readonly Finding[] =>
  KEY_FILES.flatMap((name) => {
    const path = join(dataFolder(session), name)
    let content: Buffer
    try {
      content = readFileSync(path)
    } catch {
      return []
    }
    try {
      checkKey(name, path, content)
      return []
    } catch (error) {
      return [fail('Key file', (error as Error).message, null)]
    }
  })

/** The data folder, and the folder of stored files if it is another. */
const disks = async (session: Session): Promise<readonly Finding[]> => {
  const storage = parseStorageUrl(session.io.env.SERVICE_STORAGE_URL || undefined)
  const stored = typeof storage !== 'string' && storage.kind === 'folder' ? storage.path : null
  return Promise.all([dataFolder(session), ...(stored === null ? [] : [stored])].map(disk))
}

const disk = async (path: string): Promise<Finding> => {
  let folder = path
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const found = `${sizeWords(free)} free at ${folder}`
  if (free < NO_BYTES) return fail('Disk', found, 'Free disk space for the database and weight files.')
  return free < LOW_BYTES ? warn('Disk', found, 'Free disk space before you add large models.') : ok('Disk', found)
}

/** Damaged files of svc login and svc init. */
const damagedSettings = async ({ home }: Session): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const read of [home.signedInTo, home.config]) {
    await read().catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      findings.push(fail('Settings', error.message, error.advice ?? ''))
    })
  }
  return findings
}

const START = 'Start it with: svc up. If it has another address, set --api-base or SERVICE_API_BASE.'

const readiness = async (baseUrl: string): Promise<Finding> => {
  const ready = await fetch(`${baseUrl}/ready`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => null)
  if (ready?.status === 200) return ok('Ready', 'yes')
  const { checks = {} } = ((await ready?.json().catch(() => null)) ?? {}) as { checks?: Record<string, string> }
  const failed = Object.keys(checks).filter((name) => checks[name] === 'failed')
  const which = failed.length === 0 ? '' : `; failed: ${failed.join(', ')}`
  return fail('Ready', `no (${ready?.status ?? 'no response'}${which})`, "See the service's log for the reason.")
}

const service = async ({ baseUrl, client }: Connection, now: () => Date): Promise<readonly Finding[]> => {
  const requested = now().getTime()
  const health = await client.GET('/api/v1/health').catch((error: Error) => error)
  if (health instanceof Error) return [fail('Service', health.message, (health as Failure).advice ?? START)]
  // Another program may be responding.
  if (health.data?.version === undefined) {
    return [fail('Service', `${baseUrl} returned ${health.response.status}; it is not this service`, START)]
  }
  const answered = now().getTime()
  const { version, timestamp } = health.data
  const mine = packageVersion()
  const here =
    version === mine
      ? ok('Service', `${version} at ${baseUrl}`)
      : warn('Service', `${version} at ${baseUrl}, but svc is ${mine}`, 'Use the same version of both.')
  const state = await readiness(baseUrl)
  const offsetSeconds = (Date.parse(timestamp) - (requested + answered) / 2) / 1000
  const clock = `${Math.abs(offsetSeconds).toFixed(1)} s ${offsetSeconds < 0 ? 'behind' : 'ahead of'} this machine`
  const isOff = Math.abs(offsetSeconds) > CLOCK_WARN_SECONDS + (answered - requested) / 2000
  return [
    here,
    state,
    isOff
      ? warn('Clock', `the service is ${clock}`, 'Synchronize both clocks with NTP.')
      : ok('Clock', `the service is ${clock}`),
  ]
}

const key = async (session: Session, baseUrl: string): Promise<Finding> => {
  const found = await session.apiKey(baseUrl)
  if (found === null) return warn('Key', `not signed in to ${baseUrl}`, 'Sign in with: svc login')
  const { client } = session.connectTo({ baseUrl, apiKey: found.key, timeoutMs: TIMEOUT_MS })
  const response = await client.GET('/api/v1/keys/self').catch(() => null)
  if (response === null) return warn('Key', 'not checked: the service does not respond', null)
  const { status } = response.response
  if (status === 401) return fail('Key', `the key in ${found.source} is not valid`, 'Sign in again: svc login')
  if (response.data === undefined) return warn('Key', `not checked: the service returned ${status}`, null)
  const { name, scopes, org_id, expires_at } = response.data
  const words = `${name}: ${scopes.join(', ')}${org_id === null ? '' : `; organization ${org_id}`}`
  if (expires_at === null) return ok('Key', words)
  const left = Date.parse(expires_at) - session.now().getTime()
  const until = `${words}; until ${timeWords(expires_at)}`
  return left < EXPIRY_WARN_DAYS * DAY_MS
    ? warn('Key', until, 'Create another before it expires: svc keys create')
    : ok('Key', until)
}

/** False if the address or the key is only in a damaged file. */
const isServiceKnown = ({ apiBase, apiKey }: Session, option: string | undefined): Promise<boolean> =>
  apiBase(option)
    .then(apiKey)
    .then(
      () => true,
      () => false,
    )

/** Runs all checks, each building on the previous ones. */
export const allFindings = async (session: Session, apiBase: string | undefined): Promise<readonly Finding[]> => {
  const damaged = await damagedSettings(session)
  const local = [
    node(),
    packageFiles(),
    ...(await disks(session)),
    ...damaged,
    ...keyFiles(session),
    ...(await engines(session)),
  ]
  if (damaged.length > 0 && !(await isServiceKnown(session, apiBase))) return local
  const baseUrl = await session.apiBase(apiBase)
  const connection = session.connectTo({ baseUrl, timeoutMs: TIMEOUT_MS })
  return [
    ...local,
    ...(await service(connection, session.now)),
    ...(await certificate(baseUrl, session.now())),
    await key(session, baseUrl),
    ...(await storedData(session, baseUrl)),
  ]
}
