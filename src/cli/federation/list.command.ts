import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { standingOf } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .option('--org <org_id>', 'only federations of this organization')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ org, json, apiBase }: DataOptions & { readonly org?: string }) => {
      const connection = await session.signedIn({ apiBase })
      const answer = await connection.ask((client) =>
        client.GET('/api/v1/federations', {
          params: { query: { limit: 1000, ...(org !== undefined && { org_id: org }) } },
        }),
      )
      if (json) return session.out.json(answer)
      session.out.table(
        ['ID', 'NAME', 'OWNER', 'YOU ARE', 'MEMBERS', 'CREATED'],
        answer.federations.map((one) => [
          one.id,
          one.name,
          one.org_id,
          standingOf(one),
          String(one.member_count),
          one.created_at.slice(0, 10),
        ]),
      )
      if (answer.total > answer.federations.length) {
        session.out.note(`The newest ${answer.federations.length} of ${answer.total}.`)
      }
    })
}
