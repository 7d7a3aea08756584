import { readFile, rename, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { isObject } from '../domain/is-object.ts'
import { jsonOrNull } from '../domain/parse-json.ts'
import { exists } from '../platform/files/missing-file.ts'
import type { TrainingOutcome } from './agent-trainer.ts'

/** Exists in a round's folder once training is done, so that an agent that was killed only has to submit. */
export interface FinishedTraining extends TrainingOutcome {
  /** The round's job, which its memory is kept for. */
  readonly jobId: string | null
}

const FILE = 'finished.json'
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
  const found = jsonOrNull(await readFile(join(folder, FILE), 'utf8').catch(() => ''))
  if (!isObject(found) || typeof found.weights !== 'string' || !isObject(found.report)) return null
  // Earlier versions did not name the job.
  const jobId = typeof found.jobId === 'string' ? found.jobId : null
  const finished = { ...withPaths(found, (name) => resolve(folder, name)), jobId } as FinishedTraining
  const { weights, control } = finished
  return (await exists(weights)) && (control === undefined || (await exists(control))) ? finished : null
}

export const writeFinished = async (folder: string, finished: FinishedTraining): Promise<void> => {
  const temporary = join(folder, `${FILE}.tmp`)
  await writeFile(temporary, JSON.stringify(withPaths(finished, (path) => relative(folder, path))))
  await rename(temporary, join(folder, FILE))
}
