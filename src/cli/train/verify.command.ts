import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

/** Large rounds take minutes to replay; fetch itself times out after five. */
const REPLAY_TIMEOUT_MS = 290_000

export const define = (command: Command, session: Session): void => {
  command
    .argument('<round_id>', 'a completed round whose updates are still kept')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (roundId: string, { json, apiBase }: DataOptions) => {
      const connection = await session.signedIn({ apiBase, timeoutMs: REPLAY_TIMEOUT_MS })
      const replay = await connection.ask((client) =>
        client.POST('/api/v1/training/rounds/{round_id}/receipt/replay', { params: { path: { round_id: roundId } } }),
      )
      if (json) session.out.json(replay)
      else {
        session.out.fields([
          ['Round', replay.round_id],
          ['Receipt', `sha256:${replay.expected_sha256}`],
          ['Replayed', `sha256:${replay.replayed_sha256}`],
          ['Bytes', replay.matches ? 'equal' : 'different'],
        ])
      }
      if (!replay.matches) {
        throw new Failure(`Round ${roundId} does not reproduce the result in its receipt.`, {
          advice: 'The updates, the aggregating service, or the receipt have changed since.',
        })
      }
    })
}
