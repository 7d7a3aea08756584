import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface CancelOptions extends DataOptions {
  readonly reason?: string
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<round_id>', 'a round in progress; its job, if any, continues with another round')
    .option('--reason <text>', 'shown with the round')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (roundId: string, { json, apiBase, reason }: CancelOptions) => {
      const connection = await session.signedIn({ apiBase })
      const params = { path: { round_id: roundId } }
      const body = reason === undefined ? {} : { reason }
      const round = await connection.ask((client) =>
        client.POST('/api/v1/training/rounds/{round_id}/cancel', { params, body }),
      )
      if (json) return session.out.json(round)
      session.out.line(`Canceled round ${round.round_number} (${round.id}).`)
      if (round.job_id !== undefined) {
        session.out.note(`Its job continues with another round. To stop the job: svc train stop ${round.job_id}`)
      }
    })
}
