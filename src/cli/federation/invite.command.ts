import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationNamed } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name or id of the federation')
    .argument('<org_ids...>', 'organizations to invite, separated by spaces or commas')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, orgIds: readonly string[], { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const { id } = await federationNamed(connection, name)
      const org_ids = orgIds.flatMap((part) => part.split(',')).filter((orgId) => orgId !== '')
      const answer = await connection.ask((client) =>
        client.POST('/api/v1/federations/{federation_id}/invite', {
          params: { path: { federation_id: id } },
          body: { org_ids },
        }),
      )
      if (json) return session.out.json(answer)
      for (const orgId of answer.invited) session.out.line(`Invited ${orgId}.`)
      for (const orgId of answer.skipped) session.out.line(`${orgId} was already invited or a member.`)
    })
}
