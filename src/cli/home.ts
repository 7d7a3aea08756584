import { access, constants, mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Failure } from './failure.ts'
import type { Io } from './io.ts'
import { readObject, writePrivate } from './private-file.ts'
import { DEFAULT_API_BASE, isSameOrigin, parseApiBase } from './service-address.ts'

/** What `svc login` keeps. */
export interface Credentials {
  readonly apiKey: string
  readonly orgId: string | null
  /** The service that the key is for: it is sent to no other. */
  readonly apiBase: string
}

/** What `svc init` keeps. */
export interface OrgConfig {
  readonly orgId: string
  readonly orgName: string
  readonly compliance: string | null
  readonly region: string
  readonly apiBase: string
}

/** The folder of this user: SERVICE_HOME, else ~/.svc. */
export interface Home {
  readonly folder: string
  readonly credentialsPath: string
  readonly configPath: string
  /** The key of this address; null when there is none. */
  credentials(apiBase: string): Promise<Credentials | null>
  /** Addresses that there is a key of, the one signed in to last first. */
  signedInTo(): Promise<readonly string[]>
  /** Keeps the key of an address in place of an earlier one; those of others stay. */
  saveCredentials(credentials: Credentials): Promise<void>
  /** Whether there was a key of this address. */
  removeCredentials(apiBase: string): Promise<boolean>
  config(): Promise<OrgConfig | null>
  /** Before something is done that has to be kept here. @throws the system's error where nothing can be */
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
  return { optional, required }
}

const SIGN_IN_AGAIN = 'Sign in again, which replaces it: svc login'

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const toObject = ({ apiKey, orgId, apiBase }: Credentials) => ({ api_key: apiKey, org_id: orgId, api_base: apiBase })

export const openHome = ({ env, cwd }: Pick<Io, 'env' | 'cwd'>): Home => {
  const folder = resolve(cwd, env.SERVICE_HOME || join(homedir(), '.svc'))
  const credentialsPath = join(folder, 'credentials.json')
  const configPath = join(folder, 'config.json')

  const fromObject = (object: Readonly<Record<string, unknown>>): Credentials => {
    const { optional, required } = fieldReader(credentialsPath, object, SIGN_IN_AGAIN)
    return {
      apiKey: required('api_key'),
      orgId: optional('org_id'),
      apiBase: parseApiBase(optional('api_base') ?? DEFAULT_API_BASE, `api_base in ${credentialsPath}`),
    }
  }

  /** The one signed in to last is on top, as versions that knew one address wrote it; the others are in a list. */
  const readKept = async (): Promise<readonly Credentials[]> => {
    const object = await readObject(credentialsPath, SIGN_IN_AGAIN)
    if (object === null) return []
    const others = object.others ?? []
    if (Array.isArray(others) && others.every(isObject)) return [object, ...others].map(fromObject)
    throw new Failure(`${credentialsPath} is damaged: others is not a list of objects.`, { advice: SIGN_IN_AGAIN })
  }

  const writeKept = async ([latest, ...others]: readonly Credentials[]): Promise<void> => {
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

    credentials: async (apiBase) => (await readKept()).find((kept) => isSameOrigin(kept.apiBase, apiBase)) ?? null,

    signedInTo: async () => (await readKept()).map(({ apiBase }) => apiBase),

    async saveCredentials(credentials) {
      // A damaged file is replaced: that is what its message advises.
      const kept = await readKept().catch((error: unknown) => {
        if (error instanceof Failure) return []
        throw error
      })
      await writeKept([credentials, ...kept.filter(({ apiBase }) => !isSameOrigin(apiBase, credentials.apiBase))])
    },

    async removeCredentials(apiBase) {
      const kept = await readKept()
      const others = kept.filter((one) => !isSameOrigin(one.apiBase, apiBase))
      if (others.length < kept.length) await writeKept(others)
      return others.length < kept.length
    },

    async config() {
      const advice = 'Fix it, or delete it and run: svc init <org_name>'
      const object = await readObject(configPath, advice)
      if (object === null) return null
      const { optional, required } = fieldReader(configPath, object, advice)
      return {
        orgId: required('org_id'),
        orgName: required('org_name'),
        compliance: optional('compliance'),
        region: required('region'),
        apiBase: parseApiBase(required('api_base'), `api_base in ${configPath}`),
      }
    },

    async requireWritable() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await access(folder, constants.W_OK)
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
