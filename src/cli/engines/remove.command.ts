import type { Command } from 'commander'
import { enginesFolder } from '../../inference/engines/optional/optional-engine.ts'
import type { Session } from '../session.ts'
import { OPTIONAL_ENGINE_NAMES, requireOptionalEngine } from './require-optional-engine.ts'

export const define = (command: Command, { io, out }: Session): void => {
  command.argument('<engine>', OPTIONAL_ENGINE_NAMES).action(async (name: string) => {
    const part = requireOptionalEngine(name)
    const { removeEngine } = await import('../../inference/engines/optional/install-engine.ts')
    const wasThere = await removeEngine(part, enginesFolder(io.env))
    out.line(wasThere ? `Removed ${name}.` : `${name} was not installed.`)
  })
}
