import type { Command } from 'commander'
import { enginesFolder } from '../../inference/engines/optional/optional-engine.ts'
import type { Session } from '../session.ts'
import { PART_ARGUMENT, requireNamed } from './named-engine.ts'

export const define = (command: Command, { io, out }: Session): void => {
  command.argument('<engine>', PART_ARGUMENT).action(async (name: string) => {
    const part = requireNamed(name)
    const { removeEngine } = await import('../../inference/engines/optional/install-engine.ts')
    const wasThere = await removeEngine(part, enginesFolder(io.env))
    out.line(wasThere ? `Removed ${name}.` : `${name} was not installed.`)
  })
}
