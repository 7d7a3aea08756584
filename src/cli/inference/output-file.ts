import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Option } from 'commander'
import { nullIfNoPath } from '../../platform/files/missing-file.ts'
import { Failure } from '../failure.ts'
import { requireWritableFolder, writeResult } from '../result-files.ts'
import type { Session } from '../session.ts'

export const outputOption = (what: string): Option => new Option('-o, --output <file>', `${what} (default: stdout)`)

/** Called before the work. @throws Failure if `writeOutput` cannot write the file */
export const requireOutput = async ({ io }: Session, file: string | undefined): Promise<void> => {
  if (file === undefined) return
  const path = resolve(io.cwd, file)
  const found = await nullIfNoPath(stat(path))
  const advice = 'Choose another file with --output.'
  if (found?.isDirectory()) throw new Failure(`${path} is a folder.`, { advice })
  // A device or a pipe needs no folder that can be written to.
  if (found !== null && !found.isFile()) return
  // A link, such as /dev/stdout, stays where it is.
  const folder = dirname(found === null ? path : await realpath(path))
  if ((await requireWritableFolder(folder)) !== folder)
    throw new Failure(`There is no folder ${folder}.`, { advice: `Create it. Or: ${advice}` })
}

/** Writes a text to the given file, otherwise prints it. */
export const writeOutput = async ({ io, out }: Session, text: string, file: string | undefined): Promise<void> => {
  if (file === undefined) return out.line(text)
  const path = resolve(io.cwd, file)
  await writeResult(path, `${text}\n`)
  out.note(`Written to ${path}.`)
}
