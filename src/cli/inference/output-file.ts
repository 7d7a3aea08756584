import { resolve } from 'node:path'
import { Option } from 'commander'
import { writeResult } from '../result-files.ts'
import type { Session } from '../session.ts'

export const outputOption = (what: string): Option => new Option('-o, --output <file>', `${what} (default: stdout)`)

/** Writes a text to the given file, otherwise prints it. */
export const writeOutput = async ({ io, out }: Session, text: string, file: string | undefined): Promise<void> => {
  if (file === undefined) return out.line(text)
  const path = resolve(io.cwd, file)
  await writeResult(path, `${text}\n`)
  out.note(`Written to ${path}.`)
}
