import type { Access } from '../../access/module.ts'
import type { Catalog } from '../../catalog/module.ts'
import type { Context } from '../../context.ts'
import type { Delivery } from '../../delivery/module.ts'
import type { Federations } from '../../federations/module.ts'
import type { Fleet } from '../../fleet/module.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { SecureSums } from '../secure-rounds/secure-sums.service.ts'
import { createAbsentDevicesStore } from './absent-devices.store.ts'
import { createAggregationsService } from './aggregations.service.ts'
import { createCombinations } from './combinations.service.ts'
import { createDueRounds } from './due-rounds.service.ts'
import { createEvaluationSteps } from './evaluation-steps.service.ts'
import { createEvaluationsReport } from './evaluations.report.ts'
import { createEvaluationsStore } from './evaluations.store.ts'
import { createLeasesStore } from './leases.store.ts'
import { createModelContents } from './model-content.service.ts'
import { createParticipantsReport } from './participants.report.ts'
import { createParticipantsStore } from './participants.store.ts'
import { createParticipation } from './participation.service.ts'
import { createReceipts } from './receipts.service.ts'
import { createRoundCompletions } from './round-completions.service.ts'
import { createRoundEndings } from './round-endings.service.ts'
import { createRoundPrices } from './round-prices.service.ts'
import { createRoundReach } from './round-reach.service.ts'
import { createRoundReviews } from './round-reviews.service.ts'
import { createRoundStarts } from './round-starts.service.ts'
import { createRoundsReport } from './rounds.report.ts'
import { createRoundsService } from './rounds.service.ts'
import { createRoundsStore } from './rounds.store.ts'
import { createScreening } from './screening.service.ts'
import { createStandaloneRounds } from './standalone-rounds.service.ts'
import { createUpdateAcceptance } from './update-acceptance.service.ts'
import { createUpdateAdmission } from './update-admission.service.ts'
import { createUpdateRetention } from './update-retention.service.ts'
import { createUpdatesReport } from './updates.report.ts'
import { createUpdatesService } from './updates.service.ts'
import { createUpdatesStore } from './updates.store.ts'

export interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly federations: Federations
  readonly fleet: Fleet
  readonly delivery: Delivery
}

/** From the start of a round to its devices, and to its end where it fails. */
export const composeRounds = (context: Context, earlier: Earlier, secure: SecureSteps) => {
  const { config, database, blobs, workers, events, changes, random, now, newId } = context
  const { models } = earlier.catalog
  const { federations, ledger } = earlier.federations
  const { devices, groups, heartbeats, selection, draws } = earlier.fleet
  const store = createRoundsStore(heartbeats.announce)
  const roundsReport = createRoundsReport()
  const participants = createParticipantsStore(selection)
  const absent = createAbsentDevicesStore(selection)
  const contents = createModelContents({ blobs, workers })
  const endings = createRoundEndings({ store, participants, events, now })
  const reaching = createRoundReach({ database, groups, devices, selection, federations })
  const { reach, scopeOf, includes } = reaching
  const reviews = createRoundReviews({ store, absent, selection, endings, scopeOf, events, now })
  const due = createDueRounds({ database, store, endings, reviews, absent, now })
  const prices = createRoundPrices({ database, store, draws, ledger })
  const shared = { database, store, participants, endings, secure, events, now, newId }
  const starts = createRoundStarts({
    ...shared,
    selection,
    draws,
    ledger,
    random,
    graceSeconds: config.stragglerGraceSeconds,
  })
  const evaluations = createEvaluationsStore()
  const rounds = createRoundsService({ database, store, report: roundsReport, reaching, endings, due, changes })
  const { tick } = due
  const evaluationSteps = createEvaluationSteps({
    database,
    store,
    evaluations,
    report: createEvaluationsReport(),
    rounds,
    models,
    events,
    now,
  })
  const standalone = createStandaloneRounds({ database, store, models, contents, reach, prices, starts, secure, tick })
  const participation = createParticipation({
    database,
    roundsReport,
    participants,
    participantsReport: createParticipantsReport(),
    absent,
    rounds,
    includes,
    models,
    devices,
    now,
  })
  return {
    store,
    evaluations,
    evaluationSteps,
    participants,
    contents,
    endings,
    includes,
    reviews,
    prices,
    starts,
    rounds,
    standalone,
    participation,
  }
}

/** From an update that a device submits to the model that is made of all of them. */
export const composeUpdates = (
  context: Context,
  earlier: Earlier,
  parts: ReturnType<typeof composeRounds> & { readonly secure: SecureSteps; readonly sums: SecureSums },
) => {
  const { database, blobs, workers, events, log, now, newId } = context
  const { files, models } = earlier.catalog
  const { observations } = earlier.delivery
  const { store, evaluations, participants, contents, endings, includes, reviews, rounds, secure, sums } = parts
  const leases = createLeasesStore()
  const updates = createUpdatesStore()
  const updatesReport = createUpdatesReport()
  const combinations = createCombinations({ blobs, workers, contents, sums })
  const shared = { database, store, participants, updates, endings, secure, events, now, newId }
  return {
    updates: createUpdatesService({
      ...shared,
      updates: updatesReport,
      reviews,
      admission: createUpdateAdmission({ database, participants, updates, includes, workers, contents }),
      acceptance: createUpdateAcceptance({ ...shared, observations }),
      rounds,
      files,
    }),
    aggregations: createAggregationsService({
      database,
      leases,
      updatesReport,
      combinations,
      screening: createScreening({ blobs, workers, contents }),
      completions: createRoundCompletions({ database, store, evaluations, leases, endings, models, files, now }),
      endings,
      log,
    }),
    receipts: createReceipts({ database, store, updatesReport, combinations, rounds }),
    retention: createUpdateRetention({ database, store, leases, updates, now }),
  }
}
