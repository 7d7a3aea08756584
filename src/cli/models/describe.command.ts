import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .argument('<description>', 'its new description; quote it')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, description: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const { ofKnownModel } = await import('../model-sources/catalog.ts')
      const params = { path: { model_id: name } }
      const changed = await ofKnownModel(
        connection,
        { name },
        connection.request((client) => client.PATCH('/api/v1/models/{model_id}', { params, body: { description } })),
      )
      if (json) return session.out.json(changed)
      session.out.line(`Changed the description of ${name}.`)
    })
}
