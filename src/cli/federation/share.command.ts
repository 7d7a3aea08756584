import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationNamed } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'name or id of the model')
    .argument('<federation>', 'name or id of the federation')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (model: string, name: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const federation = await federationNamed(connection, name)
      const shared = await connection.ask((client) =>
        client.POST('/api/v1/federations/{federation_id}/models', {
          params: { path: { federation_id: federation.id } },
          body: { model_id: model },
        }),
      )
      if (json) return session.out.json(shared)
      session.out.line(`Members of ${federation.name} may read ${shared.name ?? shared.model_id}.`)
    })
}
