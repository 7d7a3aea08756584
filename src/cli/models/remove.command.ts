import type { Command } from 'commander'
import type { Session } from '../session.ts'

export const define = (command: Command, { out, home }: Session): void => {
  command
    .argument('<name>', 'a model as listed by svc list models; without a variant, all variants')
    .action(async (name: string) => {
      const { removeModel } = await import('../../inference/models/change-models.ts')
      await removeModel(home.folder, name)
      out.line(`Removed ${name}.`)
    })
}
