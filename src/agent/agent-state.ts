import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { badRequest, conflict } from '../domain/errors.ts'
import { isObject } from '../domain/is-object.ts'
import { jsonOrNull } from '../domain/parse-json.ts'
import { writeDurably } from '../platform/files/durable-file.ts'
import { type FileLock, lockFile } from '../platform/files/file-lock.ts'
import { makeFolder } from '../platform/files/make-folder.ts'
import { nullIfMissing } from '../platform/files/missing-file.ts'

/** What an agent must keep between runs. The key is shown only once, at registration. */
export interface Identity {
  readonly deviceId: string
  readonly apiKey: string
}

/** An agent's folder: `identity.json`, readable only by its owner, `rounds/` for work in progress, and `models/`. */
export interface AgentState {
  readonly folder: string
  readonly roundsFolder: string
  /** The folder for delivered versions, which may not exist yet. */
  readonly modelsFolder: string
  load(): Promise<Identity | null>
  /** Replaces the stored identity, which remains if this fails. */
  save(identity: Identity): Promise<void>
}

/**
 * Locks these folders for this agent until it releases them or ends in any way. `alternative`: to stopping the holder.
 * @throws conflict that names the folder, the process that holds it, and what to do
 */
export const lockFolders = async (
  folders: readonly string[],
  alternative = 'run this agent as another device (--device-id), with a models folder (--models-dir) of its own',
): Promise<() => Promise<void>> => {
  const held: FileLock[] = []
  const release = async (): Promise<void> => {
    await Promise.all(held.map((lock) => lock.release()))
  }
  try {
    for (const folder of folders) {
      await makeFolder(folder, 0o700)
      const inUse = (holder: string | null) =>
        conflict(
          `The agent folder ${folder} is in use by ${holder ?? 'another process'}. Stop that process, or ${alternative}.`,
        )
      held.push(await lockFile(join(folder, 'agent.lock'), inUse))
    }
    return release
  } catch (error) {
    await release()
    throw error
  }
}

/** Returns a name for this machine that is different on every call. */
export const generateDeviceId = (): string => {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 40)
  return `${name || 'device'}-${randomBytes(4).toString('hex')}`
}

/** `deviceId` is null for this machine's default device. */
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
  await makeFolder(roundsFolder, 0o700)
  return {
    folder,
    roundsFolder,
    modelsFolder: join(folder, 'models'),

    load: async () => {
      const text = await nullIfMissing(readFile(path, 'utf8'))
      if (text === null) return null
      const found = jsonOrNull(text)
      const { device_id, api_key } = isObject(found) ? found : {}
      if (typeof device_id === 'string' && typeof api_key === 'string') return { deviceId: device_id, apiKey: api_key }
      throw badRequest(`${path} is damaged. Delete it to register this device again under another device id.`)
    },

    // Written durably, because a lost key cannot be recovered.
    save: async (identity) => {
      const fields = { base_url: baseUrl, device_id: identity.deviceId, api_key: identity.apiKey }
      await writeDurably(path, `${JSON.stringify(fields, null, 2)}\n`)
    },
  }
}
