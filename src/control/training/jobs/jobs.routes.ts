import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { present as presentRound } from '../rounds/round-body.schema.ts'
import { present, presentInHistory, presentPublished, presentSpending, wantedOf } from './job-body.schema.ts'
import {
  ExtendJobBody,
  Job,
  JobDetail,
  JobList,
  JobParams,
  JobRounds,
  JobRoundsQuery,
  ListJobsQuery,
  ResumeJobBody,
  StartJobBody,
} from './jobs.schema.ts'
import type { JobsService } from './jobs.service.ts'

export const jobsRoutes = (app: App, jobs: JobsService): void => {
  app.post(
    '/api/v1/training/jobs',
    {
      schema: {
        operationId: 'startTrainingJob',
        summary: 'Start a training job',
        description: 'Train a model for a number of rounds, one after another.',
        'x-extension': true,
        body: StartJobBody,
        response: { 201: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const job = await jobs.create(callerOf(request), wantedOf(request.body), (warning) => warn(request, warning))
      return reply.code(201).send(present(job))
    },
  )

  app.get(
    '/api/v1/training/jobs',
    {
      schema: {
        operationId: 'listTrainingJobs',
        summary: 'List training jobs',
        'x-extension': true,
        querystring: ListJobsQuery,
        response: { 200: JobList },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, status, model } = request.query
      const found = await jobs.list(callerOf(request), { status, model }, { limit, offset })
      return { jobs: found.jobs.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/training/jobs/:job_id',
    {
      schema: {
        operationId: 'getTrainingJob',
        summary: 'Get a training job',
        description: 'A training job, with loss and accuracy by round.',
        'x-extension': true,
        params: JobParams,
        response: { 200: JobDetail },
      },
      config: { access: 'training:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { job, history, spent, published } = await jobs.detail(callerOf(request), request.params.job_id)
      return {
        ...present(job),
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
        'x-extension': true,
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
        'x-extension': true,
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
          'Continue a stopped or failed job from its last completed round, with the state of its strategy. 409 where that was deleted, ' +
          'or where the privacy budget does not allow the rounds.',
        'x-extension': true,
        params: JobParams,
        body: ResumeJobBody,
        response: { 200: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => present(await jobs.resume(callerOf(request), request.params.job_id, request.body.rounds)),
  )

  app.post(
    '/api/v1/training/jobs/:job_id/extend',
    {
      schema: {
        operationId: 'extendTrainingJob',
        summary: 'Extend a training job',
        description:
          'Give a completed job more rounds; it continues with the state of its strategy. Its stop_when looks at the new rounds only.',
        'x-extension': true,
        params: JobParams,
        body: ExtendJobBody,
        response: { 200: Job },
      },
      config: { access: 'training:write', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => present(await jobs.extend(callerOf(request), request.params.job_id, request.body.rounds)),
  )
}
