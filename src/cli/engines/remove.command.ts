import type { Command } from 'commander'
import { enginesFolder } from '../../inference/engines/parts/part.ts'
import type { Session } from '../session.ts'
import { PART_ARGUMENT, requireNamed } from './named-part.ts'

export const define = (command: Command, { io, out }: Session): void => {
  command.argument('<engine>', PART_ARGUMENT).action(async (name: string) => {
    const part = requireNamed(name)
    const { removePart } = await import('../../inference/engines/parts/install-part.ts')
    const wasThere = await removePart(part, enginesFolder(io.env))
    out.line(wasThere ? `Removed ${name}.` : `${name} was not installed.`)
  })
}
