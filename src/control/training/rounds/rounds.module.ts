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
import { createEvaluationsStore } from './evaluations.store.ts'
import type { ModelContents } from './model-content.service.ts'
import { createParticipantsReport } from './participants.report.ts'
import { createParticipantsStore } from './participants.store.ts'
import { createParticipation } from './participation.service.ts'
import { createRetention } from './retention.service.ts'
import { createRetentionStore } from './retention.store.ts'
import { createRoundEndings } from './round-endings.service.ts'
import { createRoundPrices } from './round-prices.service.ts'
import { createRoundReach } from './round-reach.service.ts'
import { createRoundRecords } from './round-records.service.ts'
import { createRoundStarts } from './round-starts.service.ts'
import { createRoundsReport } from './rounds.report.ts'
import { createRoundsService } from './rounds.service.ts'
import { createRoundsStore } from './rounds.store.ts'
import { createStandaloneRounds } from './standalone-rounds.service.ts'
import { createUpdateAcceptance } from './update-acceptance.service.ts'
import { createUpdatesService } from './updates.service.ts'
import { createUpdatesStore } from './updates.store.ts'

export interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly federations: Federations
  readonly fleet: Fleet
  readonly delivery: Delivery
}

/** From the start of a round over its devices and their updates to its model. */
export const composeRounds = (
  context: Context,
  earlier: Earlier,
  sides: { readonly contents: ModelContents; readonly secure: SecureSteps; readonly sums: SecureSums },
) => {
  const { config, database, blobs, workers, events, changes, log, random, now, newId } = context
  const { files, models, roundModels } = earlier.catalog
  const { federations, ledger } = earlier.federations
  const { devices, groups, heartbeats, selection, draws } = earlier.fleet
  const { contents, secure } = sides
  const stores = {
    store: createRoundsStore(heartbeats.announce),
    participants: createParticipantsStore(selection),
    absent: createAbsentDevicesStore(selection),
    updates: createUpdatesStore(),
    evaluations: createEvaluationsStore(),
  }
  const report = createRoundsReport()
  const participantsReport = createParticipantsReport()
  const reaching = createRoundReach({ database, groups, devices, selection, federations })
  const { reach, scopeOf, includes } = reaching
  const shared = { database, ...stores, contents, secure, models, files, events, now, newId }
  const endings = createRoundEndings(shared)
  const due = createDueRounds({ ...shared, selection, endings, scopeOf })
  const prices = createRoundPrices({ database, report, draws, ledger })
  const { stragglerGraceSeconds: graceSeconds } = config
  const starts = createRoundStarts({ ...shared, selection, draws, endings, ledger, random, graceSeconds })
  const rounds = createRoundsService({ ...shared, report, reaching, endings, due, changes })
  const participation = createParticipation({ ...shared, report, rounds, due, includes, devices })
  const acceptance = createUpdateAcceptance({ ...shared, endings, observations: earlier.delivery.observations })
  const combinations = createCombinations({ blobs, workers, ...sides })
  return {
    contents,
    endings,
    prices,
    starts,
    rounds,
    report,
    participation,
    standalone: createStandaloneRounds({ ...shared, reach, prices, starts, tick: due.tick }),
    updates: createUpdatesService({ ...shared, workers, participation, acceptance, rounds }),
    aggregations: createAggregationsService({ ...shared, report: participantsReport, combinations, endings, log }),
    records: createRoundRecords({ ...shared, report: participantsReport, combinations, rounds }),
    evaluationSteps: createEvaluationSteps({ ...shared, report, rounds }),
    retention: createRetention({ database, store: createRetentionStore(), roundModels, now }),
  }
}
