import { createAnalyticsService } from '../analytics/analytics.service.ts'
import { createQueriesStore } from '../analytics/queries.store.ts'
import { createReadingsStore } from '../analytics/readings.store.ts'
import { createFederationsService } from '../federations/federations.service.ts'
import { createFederationsStore } from '../federations/federations.store.ts'
import { createLedger } from '../federations/ledger.service.ts'
import { createLedgerStore } from '../federations/ledger.store.ts'
import { createMembersStore } from '../federations/members.store.ts'
import { createPrivacyService } from '../federations/privacy.service.ts'
import { createJobPlans } from '../training/jobs/job-plans.service.ts'
import { createJobProgress } from '../training/jobs/job-progress.service.ts'
import { createJobsService } from '../training/jobs/jobs.service.ts'
import { createJobsStore } from '../training/jobs/jobs.store.ts'
import { createAbsentDevicesStore } from '../training/rounds/absent-devices.store.ts'
import { createAggregationsService } from '../training/rounds/aggregations.service.ts'
import { createCombinations } from '../training/rounds/combinations.service.ts'
import { createLeasesStore } from '../training/rounds/leases.store.ts'
import { createModelContents } from '../training/rounds/model-content.service.ts'
import { createParticipantsStore } from '../training/rounds/participants.store.ts'
import { createParticipation } from '../training/rounds/participation.service.ts'
import { createPrivateDrawStore } from '../training/rounds/private-draw.store.ts'
import { createPrivateDraws } from '../training/rounds/private-draws.service.ts'
import { createRoundEndings } from '../training/rounds/round-endings.service.ts'
import { createRoundReach } from '../training/rounds/round-reach.service.ts'
import { createRoundReviews } from '../training/rounds/round-reviews.service.ts'
import type { RoundSignal } from '../training/rounds/round-signal.ts'
import { createRoundStarts } from '../training/rounds/round-starts.service.ts'
import { createRoundsService } from '../training/rounds/rounds.service.ts'
import { createRoundsStore } from '../training/rounds/rounds.store.ts'
import { createSelectionStore } from '../training/rounds/selection.store.ts'
import { createUpdateAcceptance } from '../training/rounds/update-acceptance.service.ts'
import { createUpdateAdmission } from '../training/rounds/update-admission.service.ts'
import { createUpdatesService } from '../training/rounds/updates.service.ts'
import { createUpdatesStore } from '../training/rounds/updates.store.ts'
import { createSecureRoundsService } from '../training/secure-rounds/secure-rounds.service.ts'
import { createSecureRoundsStore } from '../training/secure-rounds/secure-rounds.store.ts'
import { createSecureSteps } from '../training/secure-rounds/secure-steps.service.ts'
import { createSecureSums } from '../training/secure-rounds/secure-sums.service.ts'
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
