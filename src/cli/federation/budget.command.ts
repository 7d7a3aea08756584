import { type Command, Option } from 'commander'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption, numberAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import { federationNamed, short } from './federations.ts'

interface BudgetOptions extends DataOptions {
  readonly epsilon?: number
  readonly delta?: number
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name or id of the federation')
    .addOption(new Option('--epsilon <number>', 'set the total budget').argParser(numberAboveZero))
    .addOption(new Option('--delta <number>', 'delta of the budget (default: 1e-5)').argParser(numberAboveZero))
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { epsilon, delta, json, apiBase }: BudgetOptions) => {
      if (epsilon === undefined && delta !== undefined) throw wrongUsage('--delta needs --epsilon.')
      const connection = await session.signedIn({ apiBase })
      const path = { federation_id: (await federationNamed(connection, name)).id }
      const budget = await connection.ask((client) =>
        epsilon === undefined
          ? client.GET('/api/v1/federations/{federation_id}/privacy', { params: { path } })
          : client.PUT('/api/v1/federations/{federation_id}/privacy/budget', {
              params: { path },
              body: { total_epsilon_budget: epsilon, ...(delta !== undefined && { total_delta_budget: delta }) },
            }),
      )
      if (json) return session.out.json(budget)
      session.out.fields([
        ['Budget', budget.is_set ? `epsilon ${short(budget.total_epsilon_budget)}` : 'not set'],
        ['Delta', String(budget.total_delta_budget)],
        ['Spent', `${short(budget.current_epsilon_spent)} (${budget.accountant.toUpperCase()} accounting)`],
        ['Reserved', short(Math.max(0, budget.epsilon_committed - budget.current_epsilon_spent))],
        ['Remaining', short(budget.epsilon_remaining)],
        ['Rounds', String(budget.rounds_tracked)],
      ])
      if (budget.is_exhausted) session.out.note('The budget is spent: no more private rounds can start.')
    })
}
