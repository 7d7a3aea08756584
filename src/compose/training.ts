import { createAnalyticsService } from '../features/analytics/analytics.service.ts'
import { createQueriesStore } from '../features/analytics/queries.store.ts'
import { createReadingsStore } from '../features/analytics/readings.store.ts'
import { createFederationsService } from '../features/federations/federations.service.ts'
import { createFederationsStore } from '../features/federations/federations.store.ts'
import { createLedger } from '../features/federations/ledger.service.ts'
import { createLedgerStore } from '../features/federations/ledger.store.ts'
import { createMembersStore } from '../features/federations/members.store.ts'
import { createPrivacyService } from '../features/federations/privacy.service.ts'
import { createJobPlans } from '../features/jobs/job-plans.service.ts'
import { createJobProgress } from '../features/jobs/job-progress.service.ts'
import { createJobsService } from '../features/jobs/jobs.service.ts'
import { createJobsStore } from '../features/jobs/jobs.store.ts'
import { createAbsentDevicesStore } from '../features/rounds/absent-devices.store.ts'
import { createAggregationsService } from '../features/rounds/aggregations.service.ts'
import { createCombinations } from '../features/rounds/combinations.service.ts'
import { createLeasesStore } from '../features/rounds/leases.store.ts'
import { createModelContents } from '../features/rounds/model-content.service.ts'
import { createParticipantsStore } from '../features/rounds/participants.store.ts'
import { createParticipation } from '../features/rounds/participation.service.ts'
import { createPrivateDrawStore } from '../features/rounds/private-draw.store.ts'
import { createPrivateDraws } from '../features/rounds/private-draws.service.ts'
import { createRoundEndings } from '../features/rounds/round-endings.service.ts'
import { createRoundReach } from '../features/rounds/round-reach.service.ts'
import { createRoundReviews } from '../features/rounds/round-reviews.service.ts'
import type { RoundSignal } from '../features/rounds/round-signal.ts'
import { createRoundStarts } from '../features/rounds/round-starts.service.ts'
import { createRoundsService } from '../features/rounds/rounds.service.ts'
import { createRoundsStore } from '../features/rounds/rounds.store.ts'
import { createSelectionStore } from '../features/rounds/selection.store.ts'
import { createUpdateAcceptance } from '../features/rounds/update-acceptance.service.ts'
import { createUpdateAdmission } from '../features/rounds/update-admission.service.ts'
import { createUpdatesService } from '../features/rounds/updates.service.ts'
import { createUpdatesStore } from '../features/rounds/updates.store.ts'
import { createSecureRoundsService } from '../features/secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from '../features/secure-rounds/secure-rounds.store.ts'
import { createSecureSteps } from '../features/secure-rounds/secure-steps.service.ts'
import { createSecureSums } from '../features/secure-rounds/secure-sums.service.ts'
import type { Catalogue } from './catalogue.ts'
import type { Delivery } from './delivery.ts'
import type { Foundation } from './foundation.ts'

/** Wakes a part of the clockwork, which is built after what it drives. */
export type Wake = (name: 'aggregation' | 'jobs') => void

/** How models are trained: federations and their budgets, rounds, jobs, and what they make of the updates. */
export const composeTraining = (
  foundation: Foundation,
  catalogue: Catalogue,
  parts: { readonly observations: Delivery['observations']; readonly changes: RoundSignal; readonly wake: Wake },
) => {
  const { config, database, blobs, workers, accounting, log, random, drawSeed, now, newId } = foundation
  const { files, devices, groups, models, sharedModels } = catalogue
  const { observations, changes, wake } = parts
  const ledgerStore = createLedgerStore()
  const ledger = createLedger({ database, store: ledgerStore, accounting, now, newId })
  const federations = createFederationsService({
    database,
    store: createFederationsStore(),
    members: createMembersStore(),
    sharedModels,
    models,
    now,
    newId,
  })
  const privacy = createPrivacyService({ database, store: ledgerStore, ledger, federations, now })
  const analytics = createAnalyticsService({
    database,
    queries: createQueriesStore(),
    readings: createReadingsStore(),
    federations,
    now,
    newId,
  })
  const roundsStore = createRoundsStore()
  const participants = createParticipantsStore()
  const absent = createAbsentDevicesStore(participants)
  const selection = createSelectionStore()
  const jobsStore = createJobsStore()
  const jobProgress = createJobProgress({ store: jobsStore, now })
  const endings = createRoundEndings({
    store: roundsStore,
    participants,
    ledger,
    sharing: federations,
    follower: jobProgress.follower,
    now,
  })
  const secureStore = createSecureRoundsStore()
  const secureSteps = createSecureSteps({ store: secureStore, blobs, workers, now })
  const starts = createRoundStarts({
    database,
    store: roundsStore,
    selection,
    participants,
    draws: createPrivateDraws({ store: createPrivateDrawStore(), seed: drawSeed, now }),
    endings,
    ledger,
    secure: secureSteps,
    random,
    graceSeconds: config.stragglerGraceSeconds,
    now,
    newId,
  })
  const reaching = createRoundReach({ database, groups, federations })
  const { scopeOf } = reaching
  const reviews = createRoundReviews({ store: roundsStore, absent, selection, endings, scopeOf, now })
  const contents = createModelContents({ blobs, workers })
  const rounds = createRoundsService({
    database,
    store: roundsStore,
    models,
    contents,
    reaching,
    starts,
    secure: secureSteps,
    endings,
    reviews,
    absent,
    changes,
    now,
  })
  const participation = createParticipation({
    database,
    store: roundsStore,
    participants,
    absent,
    rounds,
    models,
    devices,
    now,
  })
  const secureRounds = createSecureRoundsService({
    database,
    store: secureStore,
    rounds,
    endings,
    collected: () => wake('aggregation'),
    now,
  })
  const combinations = createCombinations({
    blobs,
    workers,
    contents,
    sums: createSecureSums({ database, store: secureStore }),
  })
  const updatesStore = createUpdatesStore()
  const jobPlans = createJobPlans({
    database,
    models,
    rounds,
    starts,
    secure: secureSteps,
    contents,
    ledger,
  })
  const jobs = createJobsService({
    database,
    store: jobsStore,
    progress: jobProgress,
    plan: jobPlans.plan,
    rounds,
    starts,
    secure: secureSteps,
    endings,
    models,
    log,
    now,
    newId,
  })
  const aggregations = createAggregationsService({
    database,
    store: roundsStore,
    leases: createLeasesStore(),
    updates: updatesStore,
    combinations,
    endings,
    rounds,
    models,
    files,
    log,
    ended: () => wake('jobs'),
    now,
  })
  const updates = createUpdatesService({
    database,
    store: roundsStore,
    participants,
    updates: updatesStore,
    reviews,
    admission: createUpdateAdmission({ database, participants, updates: updatesStore, workers, contents }),
    acceptance: createUpdateAcceptance({
      database,
      store: roundsStore,
      participants,
      updates: updatesStore,
      endings,
      secure: secureSteps,
      observations,
      now,
      newId,
    }),
    rounds,
    secure: secureSteps,
    files,
    collected: () => wake('aggregation'),
    now,
  })
  return {
    federations,
    privacy,
    analytics,
    rounds,
    participation,
    secureRounds,
    updates,
    aggregations,
    jobs,
  }
}
