import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../../platform/files/durable-file.ts'
import { makeFolder } from '../../../platform/files/make-folder.ts'
import { nullIfMissing } from '../../../platform/files/missing-file.ts'
import { InferenceError } from '../../errors.ts'
import type { Calibration } from './choose-model.ts'
import { SCORING } from './complexity.ts'

export const routingPath = (home: string): string => join(home, 'routing.json')

/** Writes the file that `serve --auto-route` reads, atomically. */
export const writeCalibration = async (home: string, { prompts, tiers }: Calibration, at: Date): Promise<string> => {
  const written = routingPath(home)
  const file = {
    scoring: SCORING,
    created_at: at.toISOString(),
    prompts,
    tiers: tiers.map(({ model, path, upToScore }) => ({ model, path, up_to_score: upToScore })),
  }
  await makeFolder(home, 0o700)
  await writeDurably(written, `${JSON.stringify(file, null, 2)}\n`)
  return written
}

const damaged = (path: string, what: string): InferenceError =>
  new InferenceError('invalid_request', `${path} is damaged: ${what}. Remove it, or write it again with: svc calibrate`)

/**
 * Reads the calibration of this machine; null if there is none, or if it used another scoring.
 * @throws InferenceError if the file is damaged
 */
export const readCalibration = async (home: string): Promise<Calibration | null> => {
  const path = routingPath(home)
  const text = await nullIfMissing(readFile(path, 'utf8'))
  if (text === null) return null
  let file: Partial<Record<'scoring' | 'prompts' | 'tiers', unknown>>
  try {
    file = JSON.parse(text)
  } catch {
    throw damaged(path, 'it is not JSON')
  }
  if (typeof file !== 'object' || file === null) throw damaged(path, 'it is not an object')
  const { scoring, prompts, tiers } = file
  if (typeof scoring !== 'number') throw damaged(path, 'scoring is not a number')
  if (scoring !== SCORING) return null
  if (typeof prompts !== 'number' || !Array.isArray(tiers)) throw damaged(path, 'prompts or tiers are missing')
  return {
    prompts,
    tiers: tiers.map((tier: { model?: unknown; path?: unknown; up_to_score?: unknown } | null, index) => {
      const { model, path: modelPath, up_to_score: upToScore } = tier ?? {}
      if (typeof model === 'string' && typeof upToScore === 'number')
        return { model, ...(typeof modelPath === 'string' && { path: modelPath }), upToScore }
      throw damaged(path, `tiers[${index}] is not {model, up_to_score}`)
    }),
  }
}
