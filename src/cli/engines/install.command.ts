import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { enginesFolder } from '../../inference/engines/optional/optional-engine.ts'
import type { Session } from '../session.ts'
import { OPTIONAL_ENGINE_NAMES, requireOptionalEngine } from './require-optional-engine.ts'

export const define = (command: Command, { io, out }: Session): void => {
  command.argument('<engine>', OPTIONAL_ENGINE_NAMES).action(async (name: string) => {
    const part = requireOptionalEngine(name)
    const { installEngine } = await import('../../inference/engines/optional/install-engine.ts')
    const { folder, bytes } = await installEngine(part, {
      engines: enginesFolder(io.env),
      env: io.env,
      signal: io.signal,
      note: out.note,
    })
    out.line(`${name} is installed in ${folder}${bytes === null ? '' : ` (${sizeWords(bytes)})`}.`)
  })
}
