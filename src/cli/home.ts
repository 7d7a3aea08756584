import { access, constants, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../domain/is-object.ts'
import { jsonOrNull } from '../domain/parse-json.ts'
import { addPathToError, writeDurably } from '../platform/files/durable-file.ts'
import { type FileLock, lockFile } from '../platform/files/file-lock.ts'
import { makeFolder } from '../platform/files/make-folder.ts'
import { nullIfMissing } from '../platform/files/missing-file.ts'
import { serviceFolder } from '../platform/files/user-folder.ts'
import { Failure } from './failure.ts'
import type { Io } from './io.ts'
import { DEFAULT_API_BASE, isSameOrigin, parseApiBase } from './service-address.ts'

/** What `svc login` stores. */
export interface Credentials {
  readonly apiKey: string
  readonly orgId: string | null
  /** The service that issued the key. The key is sent to no other service. */
  readonly apiBase: string
}

/** What `svc init` stores. */
export interface OrgConfig {
  readonly orgId: string
  readonly orgName: string
  readonly compliance: string | null
  readonly region: string
  readonly apiBase: string
}

/** The user's folder: SERVICE_HOME, otherwise ~/.svc. */
export interface Home {
  readonly folder: string
  readonly credentialsPath: string
  readonly configPath: string
  /** Returns the key for this address; null if there is none. */
  credentials(apiBase: string): Promise<Credentials | null>
  /** Addresses with stored keys, most recent login first. */
  signedInTo(): Promise<readonly string[]>
  /** Stores the key, replacing an earlier one for the same address. Keeps the keys for other addresses. */
  saveCredentials(credentials: Credentials): Promise<void>
  /** Deletes the key for this address. Returns false if there was none. */
  removeCredentials(apiBase: string): Promise<boolean>
  /** Deletes all keys and returns their addresses; null if the file was damaged. */
  removeAllCredentials(): Promise<readonly string[] | null>
  config(): Promise<OrgConfig | null>
  /** Checks that the folder is writable and its disk has space before work whose result must be stored. @throws the system's error */
  requireWritable(): Promise<void>
  saveConfig(config: OrgConfig): Promise<void>
}

const fieldReader = (path: string, object: Readonly<Record<string, unknown>>, advice: string) => {
  const optional = (name: string): string | null => {
    const value = object[name] ?? null
    if (value === null || (typeof value === 'string' && value !== '')) return value
    throw new Failure(`${path} is damaged: ${name} is not a string.`, { advice })
  }
  const required = (name: string): string => {
    const value = optional(name)
    if (value === null) throw new Failure(`${path} is damaged: ${name} is missing.`, { advice })
    return value
  }
  const address = (name: string, text: string): string => {
    try {
      return parseApiBase(text, `${name} in ${path}`)
    } catch (error) {
      throw error instanceof Failure ? new Failure(error.message, { advice, cause: error }) : error
    }
  }
  return { optional, required, address }
}

const SIGN_IN_AGAIN = 'Sign in again, which replaces it: svc login --api-base <address of the service>'

const LOCK_TRIES = 200
const LOCK_RETRY_MS = 50
/** More than a config.json has. */
const PROBE_BYTES = 4096

/** Waits for another `svc` that is changing the file: otherwise one of the two changes would be lost. */
const lockForChange = async (path: string): Promise<FileLock> => {
  for (let left = LOCK_TRIES; ; left--) {
    try {
      return await lockFile(
        `${path}.lock`,
        (holder) =>
          new Failure(`Another svc is changing ${path}${holder === null ? '' : ` (${holder})`}.`, {
            advice: `If no other svc is running, delete ${path}.lock.`,
          }),
      )
    } catch (error) {
      if (!(error instanceof Failure) || left === 0) throw error
      await sleep(LOCK_RETRY_MS)
    }
  }
}

/** Writes JSON that only the owner may read. The write is atomic, even if another `svc` writes at the same time. */
const writePrivate = async (path: string, value: unknown): Promise<void> => {
  await makeFolder(dirname(path), 0o700)
  await writeDurably(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Reads the object in a JSON file; null if the file does not exist. */
const readObject = async (path: string, advice: string): Promise<Readonly<Record<string, unknown>> | null> => {
  // The error for a folder lacks its path.
  const text = await nullIfMissing(readFile(path, 'utf8')).catch(addPathToError(path))
  if (text === null) return null
  const value = jsonOrNull(text)
  if (isObject(value)) return value
  throw new Failure(`${path} is damaged: it does not contain a JSON object.`, { advice })
}

const toObject = ({ apiKey, orgId, apiBase }: Credentials) => ({ api_key: apiKey, org_id: orgId, api_base: apiBase })

export const openHome = ({ env, cwd }: Pick<Io, 'env' | 'cwd'>): Home => {
  const folder = serviceFolder(env.SERVICE_HOME, cwd)
  const credentialsPath = join(folder, 'credentials.json')
  const configPath = join(folder, 'config.json')

  const fromObject = (object: Readonly<Record<string, unknown>>): Credentials => {
    const { optional, required, address } = fieldReader(credentialsPath, object, SIGN_IN_AGAIN)
    return {
      apiKey: required('api_key'),
      orgId: optional('org_id'),
      apiBase: address('api_base', optional('api_base') ?? DEFAULT_API_BASE),
    }
  }

  /** The most recent login is at the top level, as in older versions, which stored one address; the rest are in `others`. */
  const readKeys = async (): Promise<readonly Credentials[]> => {
    const object = await readObject(credentialsPath, SIGN_IN_AGAIN)
    if (object === null) return []
    const others = object.others ?? []
    if (Array.isArray(others) && others.every(isObject)) return [object, ...others].map(fromObject)
    throw new Failure(`${credentialsPath} is damaged: others is not a list of objects.`, { advice: SIGN_IN_AGAIN })
  }

  /** Null if the file is damaged. */
  const readKeysUnlessDamaged = (): Promise<readonly Credentials[] | null> =>
    readKeys().catch((error: unknown) => {
      if (error instanceof Failure) return null
      throw error
    })

  const withLock = async <Value>(change: () => Promise<Value>): Promise<Value> => {
    await makeFolder(folder, 0o700)
    const lock = await lockForChange(credentialsPath)
    try {
      return await change()
    } finally {
      await lock.release()
    }
  }

  const writeKeys = async ([latest, ...others]: readonly Credentials[]): Promise<void> => {
    if (latest === undefined) return rm(credentialsPath, { force: true })
    await writePrivate(credentialsPath, {
      ...toObject(latest),
      ...(others.length > 0 && { others: others.map(toObject) }),
    })
  }

  return {
    folder,
    credentialsPath,
    configPath,

    credentials: async (apiBase) => (await readKeys()).find((kept) => isSameOrigin(kept.apiBase, apiBase)) ?? null,

    signedInTo: async () => (await readKeys()).map(({ apiBase }) => apiBase),

    saveCredentials: (credentials) =>
      withLock(async () => {
        // Replaces a damaged file, as its error message advises.
        const kept = (await readKeysUnlessDamaged()) ?? []
        await writeKeys([credentials, ...kept.filter(({ apiBase }) => !isSameOrigin(apiBase, credentials.apiBase))])
      }),

    async removeCredentials(apiBase) {
      const isOther = (one: Credentials) => !isSameOrigin(one.apiBase, apiBase)
      if ((await readKeys()).every(isOther)) return false
      await withLock(async () => writeKeys((await readKeys()).filter(isOther)))
      return true
    },

    async removeAllCredentials() {
      if ((await readKeysUnlessDamaged())?.length === 0) return []
      return withLock(async () => {
        const kept = await readKeysUnlessDamaged()
        await writeKeys([])
        return kept?.map(({ apiBase }) => apiBase) ?? null
      })
    },

    async config() {
      const advice = 'Fix it, or delete it and run: svc init <org_name>'
      const object = await readObject(configPath, advice)
      if (object === null) return null
      const { optional, required, address } = fieldReader(configPath, object, advice)
      return {
        orgId: required('org_id'),
        orgName: required('org_name'),
        compliance: optional('compliance'),
        region: required('region'),
        apiBase: address('api_base', required('api_base')),
      }
    },

    async requireWritable() {
      await makeFolder(folder, 0o700)
      await access(folder, constants.W_OK)
      const probe = `${configPath}.${process.pid}.tmp`
      try {
        await writeFile(probe, Buffer.alloc(PROBE_BYTES)).catch(addPathToError(configPath))
      } finally {
        await rm(probe, { force: true })
      }
    },

    saveConfig: (config) =>
      writePrivate(configPath, {
        org_id: config.orgId,
        org_name: config.orgName,
        compliance: config.compliance,
        region: config.region,
        api_base: config.apiBase,
      }),
  }
}
