import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { createFederationChanges } from './federation-changes.service.ts'
import { federationsRoutes } from './federations.routes.ts'
import { createFederationsService } from './federations.service.ts'
import { createFederationsStore } from './federations.store.ts'
import { createLedger } from './ledger.service.ts'
import { createLedgerStore } from './ledger.store.ts'
import { createMembersService } from './members.service.ts'
import { createMembersStore } from './members.store.ts'
import { createPrivacyService } from './privacy.service.ts'
import { createPrivacyForecasts } from './privacy-forecasts.service.ts'
import { createSharedModelsReport } from './shared-models.report.ts'
import { createSharedModelsService } from './shared-models.service.ts'
import { createSharedModelsStore, isSharedByHand } from './shared-models.store.ts'

const create = ({ database, accounting, events, now, newId }: Context, { catalog }: { readonly catalog: Catalog }) => {
  const { models, roundModels } = catalog
  const sharedModelsStore = createSharedModelsStore()
  const sharedModelsReport = createSharedModelsReport()
  models.readThrough({ isSharedWith: sharedModelsStore.isSharedWith, idByName: sharedModelsReport.idByName })
  const ledgerStore = createLedgerStore()
  const ledger = createLedger({ database, store: ledgerStore, accounting, events, now, newId })
  const store = createFederationsStore()
  const membersStore = createMembersStore()
  const federations = createFederationsService({
    database,
    store,
    members: membersStore,
    now,
    newId,
  })
  const changed = createFederationChanges(events, membersStore)
  const members = createMembersService({ database, store, members: membersStore, federations, changed, events, now })
  const sharedModels = createSharedModelsService({
    database,
    sharedModels: sharedModelsStore,
    sharedModelsReport,
    models,
    federations,
    changed,
    events,
    now,
  })
  const privacy = createPrivacyService({ database, store: ledgerStore, ledger, federations, changed, now })
  const forecasts = createPrivacyForecasts({ database, store: ledgerStore, ledger, federations })
  roundModels.keepUsed(isSharedByHand)
  return { federations, members, sharedModels, ledger, privacy, forecasts, changed }
}

/** Federations of organizations: members, shared models, and the privacy ledger. */
export type Federations = ReturnType<typeof create>

export const federations: Module<Federations, { readonly catalog: Catalog }> = {
  description: 'Federations of organizations, shared models, and privacy budgets',
  tables: ['federations', 'federation_members', 'federation_models', 'privacy_budgets', 'privacy_ledger'],
  create,
  routes: federationsRoutes,
}
