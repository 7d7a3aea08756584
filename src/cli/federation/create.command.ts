import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationFields, orgFor } from './federations.ts'

interface CreateOptions extends DataOptions {
  readonly description?: string
  readonly org?: string
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name of the federation')
    .option('--description <text>', 'description')
    .option('--org <org_id>', 'organization that owns it (default: the one of svc init)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { description, org, json, apiBase }: CreateOptions) => {
      const connection = await session.signedIn({ apiBase })
      const orgId = await orgFor(session, connection, org)
      const federation = await connection.ask((client) =>
        client.POST('/api/v1/federations', {
          body: { name, org_id: orgId, ...(description !== undefined && { description }) },
        }),
      )
      if (json) return session.out.json(federation)
      session.out.fields(federationFields(federation))
      session.out.note(`Invite others: svc federation invite ${federation.id} <org_ids>`)
    })
}
