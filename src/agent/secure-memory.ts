import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonOrNull } from '../domain/parse-json.ts'
import { writeDurably } from '../platform/files/durable-file.ts'
import type { SecureMemory } from '../sdk/secure-part.ts'
import type { DevicePart } from '../secure-aggregation/device-part.ts'

const FILE = 'secure.json'

/** Stores a device's secrets of a secure round in the round's folder. */
export const openSecureMemory = (folder: string): SecureMemory => ({
  load: async () => jsonOrNull(await readFile(join(folder, FILE), 'utf8').catch(() => '')) as DevicePart | null,
  save: (part) => writeDurably(join(folder, FILE), JSON.stringify(part)),
})
