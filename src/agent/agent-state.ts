import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { badRequest } from '../domain/errors.ts'
import { writeDurably } from '../platform/transfer/durable-file.ts'

/** What an agent must remember between runs: the key is shown once, at registration. */
export interface Identity {
  readonly deviceId: string
  readonly apiKey: string
}

/** One agent's folder: `identity.json`, readable by its owner only, `rounds/` for work in progress, and `models/`. */
export interface AgentState {
  readonly roundsFolder: string
  /** Delivered versions. Not made yet. */
  readonly modelsFolder: string
  load(): Promise<Identity | null>
  /** Replaces the earlier one, which stays when this fails. */
  save(identity: Identity): Promise<void>
}

/** A name for this machine, different in every call. */
export const inventDeviceId = (): string => {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 40)
  return `${name || 'device'}-${randomBytes(4).toString('hex')}`
}

/** `deviceId` is null for the device that this machine is when nobody names it. */
export const openAgentState = async (
  stateDir: string,
  baseUrl: string,
  deviceId: string | null,
): Promise<AgentState> => {
  const digest = createHash('sha256')
    .update(`${baseUrl.replace(/\/+$/, '')}\n${deviceId ?? ''}`)
    .digest('hex')
  const folder = join(stateDir, 'devices', digest.slice(0, 16))
  const path = join(folder, 'identity.json')
  const roundsFolder = join(folder, 'rounds')
  await mkdir(roundsFolder, { recursive: true, mode: 0o700 })
  return {
    roundsFolder,
    modelsFolder: join(folder, 'models'),

    load: async () => {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      })
      if (text === null) return null
      try {
        const { device_id, api_key } = JSON.parse(text) as Record<string, unknown>
        if (typeof device_id === 'string' && typeof api_key === 'string')
          return { deviceId: device_id, apiKey: api_key }
      } catch {
        // Told below.
      }
      throw badRequest(`${path} is damaged. Delete it to register this device again under another device id.`)
    },

    // A key that is lost cannot be had again, so the file is whole before it has its name.
    save: async (identity) => {
      const fields = { base_url: baseUrl, device_id: identity.deviceId, api_key: identity.apiKey }
      await writeDurably(path, `${JSON.stringify(fields, null, 2)}\n`)
    },
  }
}
