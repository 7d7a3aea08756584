import type { BlobStore } from '../../blobs/blob-store.ts'
import { strategySettings } from '../../domain/strategy-settings.ts'
import { callerOf } from '../../http/access.ts'
import type { App } from '../../http/app.ts'
import { sendBlob } from '../../http/download.ts'
import type { RouteConfig } from '../../http/route-config.ts'
import { presentSettings, wishOf } from '../secure-rounds/secure-rounds.schema.ts'
import { Binary } from '../wire.schema.ts'
import type { AggregationsService } from './aggregations.service.ts'
import { present } from './round-body.schema.ts'
import {
  ListRoundsQuery,
  Participation,
  Plan,
  Receipt,
  Replay,
  Round,
  RoundList,
  RoundParams,
  SelectionQuery,
  StartRoundBody,
} from './rounds.schema.ts'
import type { RoundsService } from './rounds.service.ts'

export const roundsRoutes = (
  app: App,
  rounds: RoundsService,
  aggregations: AggregationsService,
  blobs: BlobStore,
): void => {
  app.post(
    '/api/v1/training/rounds/start',
    {
      schema: {
        operationId: 'startRound',
        summary: 'Start a training round: devices are drawn, and the global model is theirs to fetch',
        tags: ['training'],
        body: StartRoundBody,
        response: { 201: Round },
      },
      config: { access: 'training:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { body } = request
      const round = await rounds.start(callerOf(request), {
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
        group: body.group_id,
        federation: body.federation_id,
        secureAggregation: wishOf(body.secure_aggregation),
        privacy:
          body.privacy === undefined
            ? null
            : {
                noiseMultiplier: body.privacy.noise_multiplier,
                clipNorm: body.privacy.clip_norm,
                adaptiveClip: body.privacy.adaptive_clip ?? false,
              },
      })
      return reply.code(201).send(present(round))
    },
  )

  app.get(
    '/api/v1/training/rounds/current',
    {
      schema: {
        operationId: 'getCurrentRound',
        summary: 'The round with the highest number, whatever its status',
        tags: ['training'],
        response: { 200: Round },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await rounds.current(callerOf(request))),
  )

  app.get(
    '/api/v1/training/rounds',
    {
      schema: {
        operationId: 'listRounds',
        summary: 'Ours: all rounds, newest first',
        tags: ['training'],
        querystring: ListRoundsQuery,
        response: { 200: RoundList },
      },
      config: { access: 'training:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await rounds.list(callerOf(request), { limit, offset })
      return { rounds: found.rounds.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/status',
    {
      schema: {
        operationId: 'getRoundStatus',
        summary: 'One round',
        tags: ['training'],
        params: RoundParams,
        response: { 200: Round },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await rounds.get(callerOf(request), request.params.round_id)),
  )

  app.get(
    '/api/v1/training/rounds/:round_id/plan',
    {
      schema: {
        operationId: 'getRoundPlan',
        summary: 'Ours: what a device needs to know to take part',
        tags: ['training'],
        params: RoundParams,
        response: { 200: Plan },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round, origin, control } = await rounds.plan(callerOf(request), request.params.round_id)
      return {
        round_id: round.id,
        round_number: round.roundNumber,
        strategy: round.plan.strategy,
        hyperparameters: round.plan.hyperparameters,
        timeout_at: round.timeoutAt.toISOString(),
        ...(round.plan.options === undefined ? {} : { strategy_options: round.plan.options }),
        ...(round.jobId === null ? {} : { job_id: round.jobId }),
        ...(round.plan.asynchronous ? { asynchronous: true } : {}),
        ...(round.plan.strategy === 'scaffold' ? { control: presentControl(control) } : {}),
        ...(round.plan.secure === undefined ? {} : { secure_aggregation: presentSettings(round.plan.secure) }),
        ...(round.privacy === null ? {} : { clip_norm: round.privacy.clipNorm }),
        model:
          origin === null
            ? null
            : {
                model_id: origin.model.id,
                version: origin.version.version,
                format: origin.version.format,
                model_size_bytes: origin.version.size,
                model_hash: `sha256:${origin.version.sha256}`,
              },
      }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/model',
    {
      schema: {
        operationId: 'downloadRoundModel',
        summary: "Ours: the round's global model; fetching it counts the device as participating",
        tags: ['training'],
        produces: ['application/octet-stream'],
        params: RoundParams,
        response: { 200: Binary },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const fetches = request.method === 'GET'
      const { version } = await rounds.modelFile(callerOf(request), request.params.round_id, fetches)
      return sendBlob(request, reply, {
        size: version.size,
        sha256: version.sha256,
        fileName: version.fileName,
        open: (range, chunks) => blobs.read(version.sha256, range, chunks),
      })
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/control',
    {
      schema: {
        operationId: 'downloadRoundControl',
        summary: "Ours: SCAFFOLD's global control variate, laid out as the model; 404 while it is zero",
        tags: ['training'],
        produces: ['application/octet-stream'],
        params: RoundParams,
        response: { 200: Binary },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { sha256, size } = await rounds.controlFile(callerOf(request), request.params.round_id)
      return sendBlob(request, reply, {
        size,
        sha256,
        fileName: 'control',
        open: (range, chunks) => blobs.read(sha256, range, chunks),
      })
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/selection',
    {
      schema: {
        operationId: 'explainSelection',
        summary: 'Ours: whether a device was selected, and why or why not',
        tags: ['training'],
        params: RoundParams,
        querystring: SelectionQuery,
        response: { 200: Participation },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round_id } = request.params
      const { device, part, reason } = await rounds.selection(callerOf(request), round_id, request.query.device_id)
      return { round_id, device_id: device.deviceId, selected: part !== null, state: part?.state ?? null, reason }
    },
  )

  app.get(
    '/api/v1/training/rounds/:round_id/receipt',
    {
      schema: {
        operationId: 'getReceipt',
        summary: 'Ours: what a completed round was made of',
        tags: ['training'],
        params: RoundParams,
        response: { 200: Receipt },
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round, receipt } = await aggregations.receipt(callerOf(request), request.params.round_id)
      return { round_id: round.id, ...receipt, updates: [...receipt.updates] }
    },
  )

  app.post(
    '/api/v1/training/rounds/:round_id/receipt/replay',
    {
      schema: {
        operationId: 'replayReceipt',
        summary: 'Ours: add the kept updates up once more and compare the bytes with the receipt',
        tags: ['training'],
        params: RoundParams,
        response: { 200: Replay },
      },
      config: { access: 'training:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { round_id } = request.params
      const { expected, replayed, matches } = await aggregations.replay(callerOf(request), round_id)
      return { round_id, matches, expected_sha256: expected, replayed_sha256: replayed }
    },
  )
}

const presentControl = (control: { readonly sha256: string; readonly size: number } | null) =>
  control === null ? null : { control_size_bytes: control.size, control_hash: `sha256:${control.sha256}` }
