import { conflict } from '../../domain/errors.ts'
import type { App } from '../../platform/http/app.ts'
import { acceptUploads } from '../../platform/http/upload.ts'
import type { Access } from '../access/module.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Delivery } from '../delivery/module.ts'
import { createDownloads } from '../downloads.ts'
import type { Federations } from '../federations/module.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import { runEach } from '../periodic-tasks.ts'
import { createJobContinuations } from './jobs/job-continuations.service.ts'
import { createJobPlans } from './jobs/job-plans.service.ts'
import { createJobProgress } from './jobs/job-progress.service.ts'
import { createJobTurns } from './jobs/job-turns.service.ts'
import { jobsRoutes } from './jobs/jobs.routes.ts'
import { createJobsService } from './jobs/jobs.service.ts'
import { createVersionOrigins } from './jobs/version-origins.service.ts'
import { adoptTraining, trainingRowsOf, withdrawFromRounds } from './ownership.store.ts'
import { createAggregationRuns } from './rounds/aggregation-runs.service.ts'
import { announcementsReport } from './rounds/announcements.report.ts'
import { endDepartures } from './rounds/departures.service.ts'
import { createDueRounds } from './rounds/due-rounds.service.ts'
import { evaluationRoutes } from './rounds/evaluation.routes.ts'
import { createEvaluationSteps } from './rounds/evaluation-steps.service.ts'
import { createModelLayouts, type ModelLayouts } from './rounds/model-layouts.service.ts'
import { createParticipantScopes } from './rounds/participant-scope.service.ts'
import { participationRoutes } from './rounds/participation.routes.ts'
import { createParticipation } from './rounds/participation.service.ts'
import { placesStore } from './rounds/places.store.ts'
import { policyRoundsReport } from './rounds/policy-rounds.report.ts'
import { createPrivacyCosts } from './rounds/privacy-costs.service.ts'
import { receiptsRoutes } from './rounds/receipts.routes.ts'
import { createRetention } from './rounds/retention.service.ts'
import { isBaseVersion, isTrained, trainingReferences } from './rounds/retention.store.ts'
import { createRoundAggregation } from './rounds/round-aggregation.service.ts'
import { createRoundEndings } from './rounds/round-endings.service.ts'
import { createRoundRecords } from './rounds/round-records.service.ts'
import { createRoundStarts } from './rounds/round-starts.service.ts'
import { contributionsTo } from './rounds/rounds.report.ts'
import { roundsRoutes } from './rounds/rounds.routes.ts'
import { createRoundsService } from './rounds/rounds.service.ts'
import { createStandaloneRounds } from './rounds/standalone-rounds.service.ts'
import { createUpdateAcceptance } from './rounds/update-acceptance.service.ts'
import { createUpdateCounts } from './rounds/update-counts.service.ts'
import { updatesRoutes } from './rounds/updates.routes.ts'
import { createUpdatesService } from './rounds/updates.service.ts'
import { createVisibleRounds } from './rounds/visible-rounds.service.ts'
import { secureRoundsRoutes } from './secure-rounds/secure-rounds.routes.ts'
import { createSecureRoundsService } from './secure-rounds/secure-rounds.service.ts'
import { createSecureSteps, type SecureSteps } from './secure-rounds/secure-steps.service.ts'

const HOUR_MS = 60 * 60 * 1000

interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly federations: Federations
  readonly fleet: Fleet
  readonly delivery: Delivery
}

const create = (context: Context, earlier: Earlier) => {
  const { database, events, now } = context
  const { files, roundResults, lineage } = earlier.catalog
  const layouts = createModelLayouts(context)
  const secure = createSecureSteps(context, { layoutOf: layouts.layoutOf })
  const parts = composeRounds(context, earlier, { layouts, secure })
  const { endings, rounds } = parts
  const secureRounds = createSecureRoundsService(context, {
    roundControl: {
      get: rounds.get,
      lock: rounds.lock,
      collect: endings.collect,
      fail: (tx, round, reason) => endings.fail(tx, round, { event: 'fail', reason, reported: reason }),
    },
  })
  const jobs = createJobs(context, earlier, { ...parts, secure })
  events.inTransaction('unbound.adopted', (tx, { orgId }) => adoptTraining(tx, orgId))
  events.inTransaction('version.deleted', async (tx, { modelId, version }) => {
    if (await isBaseVersion(tx, modelId, version))
      throw conflict(
        'A training job starts from this version. Delete it once the job has completed a round, or has ended.',
      )
  })
  files.keepReferenced(trainingReferences)
  roundResults.keepUsed(isTrained)
  lineage.followTraining(createVersionOrigins(context, parts))
  earlier.federations.members.countContributions((federationId) => contributionsTo(database.sql, federationId))
  earlier.fleet.erasures.contribute({ rowsOf: trainingRowsOf, beforeErasure: withdrawFromRounds(now) })
  earlier.delivery.policies.followRounds(policyRoundsReport)
  earlier.fleet.heartbeats.contribute({
    announcedTo: (deviceIds) => announcementsReport.announcedTo(database.sql, deviceIds, now()),
    join: (roundId, deviceId) => placesStore.join(database.sql, roundId, deviceId, now()),
  })
  return { ...parts, secureRounds, updateCounts: createUpdateCounts(), jobs }
}

/** Creates the services of rounds, from the start of a round through its devices and updates to its model. */
const composeRounds = (
  context: Context,
  { access, catalog, federations: { federations, ledger }, fleet, delivery }: Earlier,
  { layouts, secure }: { readonly layouts: ModelLayouts; readonly secure: SecureSteps },
) => {
  const { config } = context
  const { settings } = access
  const { models, roundResults, files } = catalog
  const { groups, devices, draws } = fleet
  const scopes = createParticipantScopes(context, { groups, devices, federations })
  const visibleRounds = createVisibleRounds(context, { federations, settings })
  const endings = createRoundEndings(context, { models, roundResults, files, visibleRounds })
  const due = createDueRounds(context, { endings, scopes })
  const prices = createPrivacyCosts(context, { draws, ledger })
  const rounds = createRoundsService(context, { scopes, endings, due })
  const acceptance = createUpdateAcceptance(context, { endings, secure, observations: delivery.observations })
  const aggregation = createRoundAggregation(context, { layouts, secure })
  endDepartures(context, { endings })
  const shared = { ...catalog, ...fleet, layouts, secure, scopes, endings, due, prices, rounds, ledger }
  const starts = createRoundStarts(context, { ...shared, graceSeconds: config.stragglerGraceSeconds })
  return {
    layouts,
    scopes,
    visibleRounds,
    endings,
    due,
    prices,
    starts,
    rounds,
    participation: createParticipation(context, shared),
    standalone: createStandaloneRounds(context, { ...shared, starts }),
    updates: createUpdatesService(context, { ...shared, acceptance }),
    aggregationRuns: createAggregationRuns(context, { aggregation, endings }),
    records: createRoundRecords(context, { aggregation, rounds }),
    evaluationSteps: createEvaluationSteps(context, { rounds, models }),
    retention: createRetention(context, { roundResults, settings }),
  }
}

const createJobs = (
  context: Context,
  { catalog, federations: { ledger }, fleet }: Earlier,
  parts: ReturnType<typeof composeRounds> & { readonly secure: SecureSteps },
) => {
  const shared = { ...catalog, ...fleet, ...parts, ledger }
  const { visibleRounds, evaluationSteps } = parts
  const { roundResults } = catalog
  const progress = createJobProgress(context, { visibleRounds, roundResults, evaluationSteps })
  return createJobsService(context, {
    ...shared,
    progress,
    plan: createJobPlans(context, shared).plan,
    turns: createJobTurns(context, { ...shared, progress }),
    continueJob: createJobContinuations(context, { ...shared, progress }),
  })
}

/** Training: rounds, jobs of many rounds, secure aggregation, and retention. */
export type Training = ReturnType<typeof create>

export const training: Module<Training, Earlier> = {
  description: 'Rounds, updates, receipts, and training jobs',
  tables: [
    'rounds',
    'round_participants',
    'updates',
    'training_jobs',
    'evaluations',
    'secure_rounds',
    'secure_messages',
  ],
  create,
  async routes(app, parts, { blobs, config }) {
    const downloads = createDownloads({ blobs, config })
    roundsRoutes(app, parts.rounds, parts.standalone, parts.visibleRounds)
    participationRoutes(app, parts.participation, parts.records, downloads)
    evaluationRoutes(app, parts.evaluationSteps, downloads)
    receiptsRoutes(app, parts.records)
    secureRoundsRoutes(app, parts.secureRounds)
    jobsRoutes(app, parts.jobs)
    await app.register(async (scope: App) => {
      await acceptUploads(scope)
      updatesRoutes(scope, parts, { blobs, maxUploadBytes: config.maxUploadBytes })
    })
  },
  tasks: (
    _context,
    { participation, rounds, due, secureRounds, aggregationRuns, retention, jobs, evaluationSteps },
  ) => [
    { name: 'announcements', everyMs: 60_000, run: participation.withdrawAnnouncements },
    {
      name: 'due-rounds',
      everyMs: 1000,
      // These updates may complete a step of secure aggregation.
      wakeOn: { 'updates.accepted': (event) => event.rounds.some(({ isSecure }) => isSecure) },
      // Secure rounds come first, because they know better which of their devices did not do their part.
      run: () => runEach(secureRounds.tick, due.tick),
    },
    { name: 'round-times', everyMs: HOUR_MS, run: () => runEach(due.resetTimesAhead, jobs.resetTimesAhead) },
    // A separate task, because aggregating a large model takes minutes and must not delay any round's deadline.
    { name: 'aggregation', everyMs: 1000, wakeOn: { 'round.collected': true }, run: aggregationRuns.run },
    {
      name: 'jobs',
      everyMs: 1000,
      wakeOn: { 'round.completed': true },
      // The end of an evaluation may end a job.
      run: () => runEach(evaluationSteps.tick, jobs.tick),
    },
    { name: 'new-rounds', everyMs: 500, run: rounds.watch },
    {
      name: 'model-retention',
      everyMs: HOUR_MS,
      run: () => runEach(retention.retireStates, retention.retireModels),
    },
    {
      name: 'update-retention',
      everyMs: HOUR_MS,
      run: () => runEach(retention.retireUpdates, secureRounds.retire),
    },
  ],
}
