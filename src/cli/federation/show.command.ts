import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { federationFields, federationNamed, short } from './federations.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name or id of the federation')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase })
      const federation = await federationNamed(connection, name)
      if (json) return session.out.json(federation)
      // Before joining, an organization can see only the federation's own record.
      if (federation.membership?.status === 'invited') {
        session.out.fields(federationFields(federation))
        session.out.note(`You are invited. Join with: svc federation join ${federation.id}`)
        return
      }
      const path = { federation_id: federation.id }
      const { models } = await connection.ask((client) =>
        client.GET('/api/v1/federations/{federation_id}/models', { params: { path } }),
      )
      const budget = await connection.ask((client) =>
        client.GET('/api/v1/federations/{federation_id}/privacy', { params: { path } }),
      )
      session.out.fields([
        ...federationFields(federation),
        ['Models', models.map((model) => model.name ?? model.model_id).join(', ') || null],
        [
          'Privacy',
          budget.is_set
            ? `epsilon ${short(budget.current_epsilon_spent)} of ${short(budget.total_epsilon_budget)} spent`
            : 'no budget',
        ],
      ])
    })
}
