import { readFile } from 'node:fs/promises'
import { errorMessage } from '../../../domain/error-message.ts'
import { isObject } from '../../../domain/is-object.ts'
import { InferenceError } from '../../errors.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export const invalidModel = (message: string): InferenceError =>
  new InferenceError('invalid_model', message, { param: 'model' })

/** Reads a model's file; null if it does not exist. @throws InferenceError invalid_model */
export const readText = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw invalidModel(`${path} cannot be read: ${errorMessage(error)}.`)
  }
}

/** Reads JSON from a model's file; null if the file does not exist. @throws InferenceError invalid_model */
export const readJson = async (path: string): Promise<unknown> => {
  const text = await readText(path)
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch {
    throw invalidModel(`${path} is damaged: it is not JSON.`)
  }
}

/** Reads an object from a model's file; empty if the file does not exist. */
export const readObject = async (path: string): Promise<JsonObject> => {
  const value = await readJson(path)
  if (value === null) return {}
  if (isObject(value)) return value
  throw invalidModel(`${path} is damaged: it does not contain a JSON object.`)
}

/** Returns a positive integer, or null. */
export const countIn = (object: JsonObject, key: string): number | null => {
  const value = object[key]
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : null
}
