import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { enginesFolder } from '../../inference/engines/parts/part.ts'
import type { Session } from '../session.ts'
import { PART_ARGUMENT, requireNamed } from './named-part.ts'

export const define = (command: Command, { io, out }: Session): void => {
  command.argument('<engine>', PART_ARGUMENT).action(async (name: string) => {
    const part = requireNamed(name)
    const { installPart } = await import('../../inference/engines/parts/install-part.ts')
    const { folder, bytes } = await installPart(part, {
      engines: enginesFolder(io.env),
      env: io.env,
      signal: io.signal ?? new AbortController().signal,
      note: out.note,
    })
    out.line(`${name} is installed in ${folder}${bytes === null ? '' : ` (${sizeWords(bytes)})`}.`)
  })
}
