import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationNamed, orgFor } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name or id of the federation')
    .option('--org <org_id>', 'organization that joins (default: the one of svc init)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { org, json, apiBase }: DataOptions & { readonly org?: string }) => {
      const connection = await session.signedIn({ apiBase })
      const orgId = await orgFor(session, connection, org)
      const federation = await federationNamed(connection, name)
      const joined = await connection.ask((client) =>
        client.POST('/api/v1/federations/{federation_id}/join', {
          params: { path: { federation_id: federation.id } },
          body: { org_id: orgId },
        }),
      )
      if (json) return session.out.json(joined)
      session.out.line(`${joined.org_id} is a member of ${federation.name} (${federation.id}).`)
    })
}
