import { type Command, Option } from 'commander'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption, numberAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import { fourDigits } from './cells.ts'
import { find } from './find.ts'
import { PRIVACY_TIMEOUT_MS } from './resource.ts'

interface PrivacyOptions extends DataOptions {
  readonly noiseMultiplier?: number
  readonly noise?: number
  readonly sampleRate?: number
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a federation, by name or id')
    .option('--noise-multiplier <ratio>', 'estimate the cost of a round with this noise', numberAboveZero)
    // The name in version 1.0.0.
    .addOption(new Option('--noise <multiplier>').argParser(numberAboveZero).hideHelp())
    .option('--sample-rate <rate>', 'sample rate of such a round', numberAboveZero)
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { noiseMultiplier, noise: formerly, sampleRate, json, apiBase }: PrivacyOptions) => {
      const noise = noiseMultiplier ?? formerly
      if ((noise === undefined) !== (sampleRate === undefined)) {
        throw wrongUsage('--noise-multiplier and --sample-rate must be given together.')
      }
      const connection = await session.signedIn({ apiBase, timeoutMs: PRIVACY_TIMEOUT_MS })
      const found = await find({ connection, session, org: undefined }, 'federation', name)
      const path = { federation_id: String(found.federation_id) }
      if (noise === undefined || sampleRate === undefined) {
        const response = await connection.request((client) =>
          client.GET('/api/v1/federations/{federation_id}/privacy/history', { params: { path } }),
        )
        if (json) return session.out.json(response)
        session.out.table(
          ['ROUND', 'STATUS', 'NOISE', 'SAMPLE RATE', 'CLIP', 'COST', 'EPSILON SO FAR'],
          response.history.map((one) => [
            one.round_id,
            one.status,
            fourDigits(one.noise_multiplier),
            fourDigits(one.sample_rate),
            fourDigits(one.clip_norm),
            fourDigits(one.epsilon_cost),
            fourDigits(one.cumulative_epsilon),
          ]),
        )
        return
      }
      const query = { noise_multiplier: noise, sample_rate: sampleRate }
      const estimate = await connection.request((client) =>
        client.GET('/api/v1/federations/{federation_id}/privacy/estimate', { params: { path, query } }),
      )
      const left = await connection.request((client) =>
        client.GET('/api/v1/federations/{federation_id}/privacy/rounds-left', { params: { path, query } }),
      )
      if (json) return session.out.json({ ...estimate, rounds_left: left.rounds_left })
      session.out.fields([
        ['So far', `epsilon ${fourDigits(estimate.current_epsilon)} of ${fourDigits(estimate.budget_epsilon)}`],
        [
          'With it',
          `epsilon ${fourDigits(estimate.projected_epsilon)} (${estimate.accountant.toUpperCase()} accounting)`,
        ],
        ['Cost', fourDigits(estimate.round_epsilon_cost)],
        ['Rounds left', String(left.rounds_left)],
      ])
      if (estimate.would_exceed_budget) session.out.note('The budget does not allow it.')
    })
}
