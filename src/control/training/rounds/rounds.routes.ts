import type { Static } from 'typebox'
import type { Caller } from '../../../domain/access.ts'
import { strategySettings } from '../../../domain/strategy-settings.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { settingsOf } from '../secure-rounds/secure-rounds.schema.ts'
import { participantScopeOf } from './round-settings.schema.ts'
import { present, warningsOf } from './rounds.present.ts'
import { CancelRoundBody, FindRoundsQuery, Round, RoundList, RoundParams, StartRoundBody } from './rounds.schema.ts'
import type { RoundsService, StoredRound } from './rounds.service.ts'
import type { StandaloneRounds, StartRound } from './standalone-rounds.service.ts'
import type { VisibleRounds } from './visible-rounds.service.ts'

export const roundsRoutes = (
  app: App,
  rounds: RoundsService,
  standalone: StandaloneRounds,
  visibleRounds: Pick<VisibleRounds, 'one' | 'shown'>,
): void => {
  const presentTo = async (caller: Caller, round: StoredRound) => present(await visibleRounds.one(caller, round))

  app.post(
    '/api/v1/training/rounds/start',
    {
      schema: {
        operationId: 'startRound',
        summary: 'Start a training round',
        description: 'Start a training round: select devices and offer them the global model.',
        body: StartRoundBody,
        response: { 201: Round },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const started = startOf(request.body)
      const round = await standalone.start(callerOf(request), started, (warning) => warn(request, warning))
      for (const warning of warningsOf(round)) warn(request, warning)
      return reply.code(201).send(present(round))
    },
  )

  app.get(
    '/api/v1/training/rounds/current',
    {
      schema: {
        operationId: 'getCurrentRound',
        summary: 'Get the latest round',
        description:
          "The round of the key's organization that started last, in any state; with a key that is not bound to an organization, of all " +
          'organizations.',
        response: { 200: Round },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentTo(callerOf(request), await rounds.current(callerOf(request))),
  )

  app.get(
    '/api/v1/training/rounds',
    {
      schema: {
        operationId: 'listRounds',
        summary: 'List rounds',
        description: 'Newest first; with status, only those in this state.',
        querystring: FindRoundsQuery,
        response: { 200: RoundList },
      },
      config: { access: 'training:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { status, limit, offset } = request.query
      const found = await rounds.list(callerOf(request), status, { limit, offset })
      const shown = await visibleRounds.shown(callerOf(request), found.rounds)
      return { rounds: shown.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/status',
    {
      schema: {
        operationId: 'getRoundStatus',
        summary: 'Get a round',
        params: RoundParams,
        response: { 200: Round },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => presentTo(callerOf(request), await rounds.get(callerOf(request), request.params.round_id)),
  )

  app.post(
    '/api/v1/training/rounds/:round_id/cancel',
    {
      schema: {
        operationId: 'cancelRound',
        summary: 'Cancel a round',
        description: 'End the round at once, as failed. Its job, if it has one, continues with another round.',
        params: RoundParams,
        body: optionalBody(CancelRoundBody),
        response: { 200: Round },
      },
      config: {
        access: 'training:write',
        errors: ['bad_request', 'not_found', 'conflict'],
      } satisfies RouteConfig,
    },
    async (request) =>
      presentTo(
        callerOf(request),
        await rounds.cancel(callerOf(request), request.params.round_id, request.body?.reason ?? null),
      ),
  )
}

const startOf = (body: Static<typeof StartRoundBody>): StartRound => ({
  targetDevices: body.target_devices,
  minDevices: body.min_devices,
  timeoutSeconds: body.timeout_seconds,
  globalModel: body.global_model_id,
  orgId: body.org_id,
  hyperparameters: body.hyperparameters ?? {},
  strategy:
    body.strategy === undefined && body.strategy_options === undefined
      ? null
      : strategySettings(body.strategy, body.strategy_options),
  ...participantScopeOf(body),
  secureAggregation: settingsOf(body.secure_aggregation),
  rawVector: body.raw_vector ?? false,
  privacy:
    body.privacy === undefined
      ? null
      : {
          noiseMultiplier: body.privacy.noise_multiplier,
          clipNorm: body.privacy.clip_norm,
          adaptiveClip: body.privacy.adaptive_clip ?? false,
          ...(body.privacy.target_delta === undefined ? {} : { delta: body.privacy.target_delta }),
        },
})
