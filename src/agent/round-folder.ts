import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { errorMessage } from '../domain/error-message.ts'
import { isObject } from '../domain/is-object.ts'
import { jsonOrNull } from '../domain/parse-json.ts'
import { writeDurably } from '../platform/files/durable-file.ts'
import { exists } from '../platform/files/missing-file.ts'
import { NetworkError } from '../sdk/api-error.ts'
import type { SecureMemory } from '../sdk/secure-part.ts'
import type { DevicePart } from '../secure-aggregation/device-part.ts'
import type { TrainingOutcome } from './agent-trainer.ts'
import { diskFault } from './disk-fault.ts'

// What an agent keeps in the folder of a round until its update is accepted.

/** Ids are used as names of folders. */
export const requireRoundId = (roundId: string): string => {
  if (/^[\w-]{1,64}$/.test(roundId)) return roundId
  throw new NetworkError(`The service sent the round id '${roundId}', which is not a valid id.`)
}

/** What the service is told about a failure. */
export const failureReasonOf = (error: unknown): string => {
  const fault = diskFault(error)
  return fault === null ? errorMessage(error) : `${fault}: the round's files could not be written.`
}

/** Exists in a round's folder once training is done, so that an agent that was killed only has to submit. */
export interface FinishedTraining extends TrainingOutcome {
  /** The round's job, which its memory is kept for. */
  readonly jobId: string | null
  /** Null if an earlier version wrote it. */
  readonly roundNumber: number | null
}

const FINISHED = 'finished.json'
const PATHS = ['weights', 'control', 'memory'] as const

/** The folder may be moved before it is read, so its files are named relative to it. */
const withPaths = (fields: object, change: (path: string) => string): object => {
  const given = PATHS.flatMap((name) => {
    const path = (fields as Record<string, unknown>)[name]
    return typeof path === 'string' ? [[name, change(path)]] : []
  })
  return { ...fields, ...Object.fromEntries(given) }
}

/** Null if it is missing, or incomplete after a power cut: the round is then trained again. */
export const readFinished = async (folder: string): Promise<FinishedTraining | null> => {
  const found = jsonOrNull(await readFile(join(folder, FINISHED), 'utf8').catch(() => ''))
  if (!isObject(found) || typeof found.weights !== 'string' || !isObject(found.report)) return null
  // Earlier versions wrote neither.
  const jobId = typeof found.jobId === 'string' ? found.jobId : null
  const roundNumber = typeof found.roundNumber === 'number' ? found.roundNumber : null
  const finished = { ...withPaths(found, (name) => resolve(folder, name)), jobId, roundNumber } as FinishedTraining
  const { weights, control } = finished
  return (await exists(weights)) && (control === undefined || (await exists(control))) ? finished : null
}

export const writeFinished = async (folder: string, finished: FinishedTraining): Promise<void> => {
  const temporary = join(folder, `${FINISHED}.tmp`)
  await writeFile(temporary, JSON.stringify(withPaths(finished, (path) => relative(folder, path))))
  await rename(temporary, join(folder, FINISHED))
}

const SECURE = 'secure.json'

/** Stores a device's secrets of a secure round in the round's folder. */
export const openSecureMemory = (folder: string): SecureMemory => ({
  load: async () => jsonOrNull(await readFile(join(folder, SECURE), 'utf8').catch(() => '')) as DevicePart | null,
  save: (part) => writeDurably(join(folder, SECURE), JSON.stringify(part)),
})

/** Returns the secure round that has this device's masked update and awaits its shares, which no heartbeat names; null if none does. */
export const roundToUnmask = async (roundsFolder: string): Promise<string | null> => {
  for (const roundId of await readdir(roundsFolder)) {
    const part = await openSecureMemory(join(roundsFolder, roundId)).load()
    if (part?.step === 'masked' || part?.step === 'unmasked') return roundId
  }
  return null
}
