import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { participantScopeOf } from '../rounds/round-settings.schema.ts'
import { present as presentRound } from '../rounds/rounds.present.ts'
import { settingsOf } from '../secure-rounds/secure-rounds.schema.ts'
import { ExtendJobBody, ResumeJobBody, StartJobBody } from './job-requests.schema.ts'
import { improvementIn, requireStopCondition } from './job-stop.ts'
import {
  coarseSteps,
  present,
  presentInHistory,
  presentNamed,
  presentPublished,
  presentSpending,
} from './jobs.present.ts'
import { Job, JobDetail, JobList, JobParams, JobRounds, JobRoundsQuery, ListJobsQuery } from './jobs.schema.ts'
import type { JobsService, StoredJob } from './jobs.service.ts'

export const jobsRoutes = (app: App, jobs: JobsService): void => {
  app.post(
    '/api/v1/training/jobs',
    {
      schema: {
        operationId: 'startTrainingJob',
        summary: 'Start a training job',
        description: 'Train a model for a number of rounds, one after another.',
        body: StartJobBody,
        response: { 201: Job },
      },
      config: {
        access: 'training:write',
        errors: ['not_found', 'conflict'],
        beforeInvalid: async (request) => requireStopCondition(request.body),
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const job = await jobs.create(callerOf(request), requestOf(request.body), (warning) => warn(request, warning))
      return reply.code(201).send(presentStarted(request, job))
    },
  )

  app.get(
    '/api/v1/training/jobs',
    {
      schema: {
        operationId: 'listTrainingJobs',
        summary: 'List training jobs',
        description: 'Newest first.',
        querystring: ListJobsQuery,
        response: { 200: JobList },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, status, model } = request.query
      const found = await jobs.list(callerOf(request), { status, model }, { limit, offset })
      return { jobs: found.jobs.map((job) => presentNamed(job, found.modelNames)), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/training/jobs/:job_id',
    {
      schema: {
        operationId: 'getTrainingJob',
        summary: 'Get a training job',
        description: 'A training job, with loss and accuracy by round.',
        params: JobParams,
        response: { 200: JobDetail },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { job, history, spent, published, modelNames } = await jobs.detail(callerOf(request), request.params.job_id)
      return {
        ...presentNamed(job, modelNames),
        ...(spent === null ? {} : { privacy_spent: presentSpending(spent) }),
        published: published.flatMap(presentPublished),
        history: history.map(presentInHistory),
      }
    },
  )

  app.get(
    '/api/v1/training/jobs/:job_id/rounds',
    {
      schema: {
        operationId: 'listTrainingJobRounds',
        summary: 'List the rounds of a training job',
        description: 'Newest first.',
        params: JobParams,
        querystring: JobRoundsQuery,
        response: { 200: JobRounds },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset } = request.query
      const found = await jobs.rounds(callerOf(request), request.params.job_id, { limit, offset })
      return { rounds: found.rounds.map(presentRound), total: found.total, limit, offset }
    },
  )

  app.post(
    '/api/v1/training/jobs/:job_id/stop',
    {
      schema: {
        operationId: 'stopTrainingJob',
        summary: 'Stop a training job',
        description: 'End a job at once, and its round with it.',
        params: JobParams,
        response: { 200: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => present(await jobs.stop(callerOf(request), request.params.job_id)),
  )

  continuationRoutes(app, jobs)
}

const continuationRoutes = (app: App, jobs: JobsService): void => {
  app.post(
    '/api/v1/training/jobs/:job_id/resume',
    {
      schema: {
        operationId: 'resumeTrainingJob',
        summary: 'Resume a training job',
        description:
          'Continue a stopped or failed job from its last completed round, with the state of its strategy. 409 if that state was ' +
          "deleted, the federation's privacy budget does not allow the rounds, or the job's target_epsilon allows fewer than the " +
          'requested number, or none.',
        params: JobParams,
        body: ResumeJobBody,
        response: { 200: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) =>
      presentStarted(request, await jobs.resume(callerOf(request), request.params.job_id, request.body.rounds)),
  )

  app.post(
    '/api/v1/training/jobs/:job_id/extend',
    {
      schema: {
        operationId: 'extendTrainingJob',
        summary: 'Extend a training job',
        description:
          'Give a completed job more rounds; it continues with the state of its strategy. Its stop_when considers only the new rounds.',
        params: JobParams,
        body: ExtendJobBody,
        response: { 200: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) =>
      presentStarted(request, await jobs.extend(callerOf(request), request.params.job_id, request.body.rounds)),
  )
}

/** Presents a job that starts or continues, with a warning if its settings lose much of the updates' precision. */
const presentStarted = (request: FastifyRequest, job: StoredJob) => {
  const warning = coarseSteps(job)
  if (warning !== null) warn(request, warning)
  return present(job)
}

/** Converts the body of a request to a requested job. */
const requestOf = (body: Static<typeof StartJobBody>) => {
  const { privacy, stop_when: stop } = body
  return {
    model: body.model,
    name: body.name,
    orgId: body.org_id,
    strategy: body.strategy,
    strategyOptions: body.strategy_options,
    rounds: body.rounds,
    minDevices: body.min_devices,
    targetDevices: body.target_devices,
    overSelection: body.over_selection,
    timeoutSeconds: body.timeout_seconds,
    reportWindowSeconds: body.report_window_seconds,
    waitForDevicesSeconds: body.wait_for_devices_seconds,
    evaluationSeconds: body.evaluation_seconds,
    ...participantScopeOf(body),
    hyperparameters: body.hyperparameters,
    privacy: privacy && {
      noiseMultiplier: privacy.noise_multiplier,
      targetEpsilon: privacy.target_epsilon,
      targetDelta: privacy.target_delta,
      clipNorm: privacy.clip_norm,
      adaptiveClip: privacy.adaptive_clip ?? false,
    },
    secureAggregation: settingsOf(body.secure_aggregation),
    stopWhen: stop && { lossImprovementBelow: improvementIn(stop, body.metric), patience: stop.patience },
    metric: body.metric,
    goal: body.goal,
    publish: body.publish,
    rawVector: body.raw_vector ?? false,
  }
}
