import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { Receipt, Replay } from './round-records.schema.ts'
import type { RoundRecords } from './round-records.service.ts'
import { RoundParams } from './rounds.schema.ts'

export const receiptsRoutes = (app: App, records: RoundRecords): void => {
  app.get(
    '/api/v1/training/rounds/:round_id/receipt',
    {
      schema: {
        operationId: 'getReceipt',
        summary: 'Get the receipt of a completed round',
        params: RoundParams,
        response: { 200: Receipt },
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round, receipt } = await records.receipt(callerOf(request), request.params.round_id)
      return { round_id: round.id, ...receipt, updates: [...receipt.updates] }
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/receipt/replay',
    {
      schema: {
        operationId: 'replayReceipt',
        summary: 'Replay a receipt and compare the bytes',
        description: 'Aggregate the stored updates again and compare the bytes with the receipt.',
        params: RoundParams,
        response: { 200: Replay },
      },
      config: { access: 'training:read', deviceKeys: false, errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round_id } = request.params
      const { expected, replayed, matches } = await records.replay(callerOf(request), round_id)
      return { round_id, matches, expected_sha256: expected, replayed_sha256: replayed }
    },
  )
}
