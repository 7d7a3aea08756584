import type { Command } from 'commander'
import type { Session } from '../session.ts'

export const define = (command: Command, { out, home }: Session): void => {
  command
    .argument('<name>', 'a model as svc list models shows it; without a variant all of them go')
    .action(async (name: string) => {
      const { removeModel } = await import('../../inference/models/change-models.ts')
      await removeModel(home.folder, name)
      out.line(`Removed ${name}.`)
    })
}
