import type { Command } from 'commander'
import { confirm } from '../confirm.ts'
import { apiBaseOption, type DataOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface DeleteVersionOptions extends DataOptions {
  readonly yes?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .argument('<version>', 'a version, by label or number')
    .option('--yes', 'skip the confirmation')
    .addOption(apiBaseOption())
    .action(async (name: string, version: string, { yes, apiBase }: DeleteVersionOptions) => {
      const connection = await session.signedIn({ apiBase })
      if (!yes) await confirm(session.io, `Deleting version ${version} of ${name} (it cannot be undone)`)
      const { ofKnownModel } = await import('../model-sources/catalog.ts')
      const params = { path: { model_id: name, version } }
      await ofKnownModel(
        connection,
        { name, version },
        connection.request((client) => client.DELETE('/api/v1/models/{model_id}/versions/{version}', { params })),
      )
      session.out.line(`Deleted version ${version} of ${name}.`)
    })
}
