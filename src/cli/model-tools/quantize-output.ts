import { stat } from 'node:fs/promises'
import { dirname, extname } from 'node:path'
import { makeTemporaryFolder } from '../../platform/files/temporary-folder.ts'
import { wrongUsage } from '../failure.ts'
import { isSameFile, requireWritableFolder } from '../result-files.ts'

/** Creates a temporary folder on the output's disk, so that the result can be renamed into place. @throws Failure */
export const folderNear = async (output: string): Promise<string> =>
  makeTemporaryFolder('.svc-quantize', await requireWritableFolder(dirname(output)))

/** @throws Failure if the result would replace its source or a folder */
export const requireFree = async (output: string, source: string): Promise<void> => {
  if (await isSameFile(output, source)) {
    throw wrongUsage(`The result would replace ${source}.`, 'Choose another path with --output.')
  }
  const found = await stat(output).catch(() => null)
  if (found === null || found.isFile()) return
  const isPackage = extname(output).toLowerCase() === '.mlpackage'
  if (!found.isDirectory() || !isPackage) {
    const what = found.isDirectory() ? 'a folder' : 'not a regular file'
    throw wrongUsage(
      `The result cannot be written to ${output}, which is ${what}.`,
      'Choose another path with --output.',
    )
  }
}

/** Formats the value with enough digits to show that it is below the threshold. */
export const valueBelow = (value: number, threshold: number): string => {
  for (let digits = 4; digits < 17; digits++) {
    if (Number(value.toFixed(digits)) < threshold) return value.toFixed(digits)
  }
  return String(value)
}

/** Explains why no result was accepted, and names the best one. */
export const belowThreshold = (
  rows: readonly { readonly method: string; readonly quality?: number }[],
  threshold: number,
): string => {
  const [best] = rows.filter(({ quality }) => quality !== undefined).sort((a, b) => b.quality! - a.quality!)
  const words = best === undefined ? '' : `; the best is ${valueBelow(best.quality!, threshold)} (${best.method})`
  return `no result reaches the quality ${threshold}${words}`
}
