import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationNamed, short } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name or id of the federation')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const { id } = await federationNamed(connection, name)
      const answer = await connection.ask((client) =>
        client.GET('/api/v1/federations/{federation_id}/members', {
          params: { path: { federation_id: id }, query: { limit: 1000 } },
        }),
      )
      if (json) return session.out.json(answer)
      session.out.table(
        ['ORGANIZATION', 'ROLE', 'STATUS', 'ROUNDS', 'SAMPLES', 'ACCURACY', 'LOSS', 'LAST CONTRIBUTION'],
        answer.members.map((member) => [
          member.org_id,
          member.role,
          member.status,
          String(member.rounds_contributed),
          String(member.total_samples),
          short(member.avg_accuracy),
          short(member.avg_loss),
          member.last_contribution_at,
        ]),
      )
    })
}
