import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { looksLikePath } from '../../inference/models/model-name.ts'
import { nullIfNoPath } from '../../platform/files/missing-file.ts'
import { Failure } from '../failure.ts'

/** Returns a model's path, and whether it is a folder. @throws Failure if nothing is there, or something else, such as a device */
export const modelAt = async (
  text: string,
  cwd: string,
  expected: 'file' | 'file or folder' = 'file',
): Promise<{ readonly path: string; readonly isFolder: boolean }> => {
  const path = resolve(cwd, text)
  const found = await nullIfNoPath(stat(path))
  if (found === null) {
    const message = `There is no ${expected} ${text}.`
    if (looksLikePath(text)) throw new Failure(message)
    throw new Failure(message, { advice: 'Give a path: svc list models --json has those of your models.' })
  }
  if (!found.isFile() && !found.isDirectory())
    throw new Failure(`${text} is not a regular file.`, { advice: 'Give the path of a model file.' })
  return { path, isFolder: found.isDirectory() }
}
