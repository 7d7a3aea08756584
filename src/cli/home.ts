import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Failure } from './failure.ts'
import type { Io } from './io.ts'
import { readObject, writePrivate } from './private-file.ts'
import { parseApiBase } from './service-address.ts'

/** What `svc login` keeps. */
export interface Credentials {
  readonly apiKey: string
  readonly orgId: string | null
  /** The service that the key is for; null in a file that somebody wrote by hand without it. */
  readonly apiBase: string | null
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
  credentials(): Promise<Credentials | null>
  saveCredentials(credentials: Credentials): Promise<void>
  config(): Promise<OrgConfig | null>
  saveConfig(config: OrgConfig): Promise<void>
}

const fieldReader = (path: string, object: Readonly<Record<string, unknown>>, advice: string) => {
  const optional = (name: string): string | null => {
    const value = object[name] ?? null
    if (value === null || (typeof value === 'string' && value !== '')) return value
    throw new Failure(`${path} is damaged: ${name} is not a text.`, { advice })
  }
  const required = (name: string): string => {
    const value = optional(name)
    if (value === null) throw new Failure(`${path} is damaged: ${name} is missing.`, { advice })
    return value
  }
  return { optional, required }
}

export const openHome = ({ env, cwd }: Pick<Io, 'env' | 'cwd'>): Home => {
  const folder = resolve(cwd, env.SERVICE_HOME || join(homedir(), '.svc'))
  const credentialsPath = join(folder, 'credentials.json')
  const configPath = join(folder, 'config.json')
  return {
    folder,
    credentialsPath,
    configPath,

    async credentials() {
      const advice = 'Sign in again, which replaces it: svc login'
      const object = await readObject(credentialsPath, advice)
      if (object === null) return null
      const { optional, required } = fieldReader(credentialsPath, object, advice)
      const apiBase = optional('api_base')
      return {
        apiKey: required('api_key'),
        orgId: optional('org_id'),
        apiBase: apiBase === null ? null : parseApiBase(apiBase, `api_base in ${credentialsPath}`),
      }
    },

    saveCredentials: ({ apiKey, orgId, apiBase }) =>
      writePrivate(credentialsPath, { api_key: apiKey, org_id: orgId, api_base: apiBase }),

    async config() {
      const advice = 'Mend it, or remove it and run: svc init <org_name>'
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
