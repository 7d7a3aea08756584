import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { federationsRoutes } from './federations.routes.ts'
import { createFederationsService } from './federations.service.ts'
import { createFederationsStore } from './federations.store.ts'
import { createLedger } from './ledger.service.ts'
import { createLedgerStore } from './ledger.store.ts'
import { createMembersStore } from './members.store.ts'
import { createPrivacyService } from './privacy.service.ts'
import { createSharedModelsReport } from './shared-models.report.ts'
import { createSharedModelsStore } from './shared-models.store.ts'

const create = ({ database, accounting, now, newId }: Context, { catalog }: { readonly catalog: Catalog }) => {
  const { models } = catalog
  const sharedModels = createSharedModelsStore()
  const sharedModelsReport = createSharedModelsReport()
  models.readThrough({ isSharedWith: sharedModels.isSharedWith, idByName: sharedModelsReport.idByName })
  const ledgerStore = createLedgerStore()
  const ledger = createLedger({ database, store: ledgerStore, accounting, now, newId })
  const federations = createFederationsService({
    database,
    store: createFederationsStore(),
    members: createMembersStore(),
    sharedModels,
    sharedModelsReport,
    models,
    now,
    newId,
  })
  const privacy = createPrivacyService({ database, store: ledgerStore, ledger, federations, now })
  return { federations, ledger, privacy }
}

/** Federations of organizations: members, shared models, and the privacy ledger. */
export type Federations = ReturnType<typeof create>

export const federations: Module<Federations, { readonly catalog: Catalog }> = {
  tables: ['federations', 'federation_members', 'federation_models', 'privacy_budgets', 'privacy_ledger'],
  create,
  routes: (app, parts) => federationsRoutes(app, parts.federations, parts.privacy),
}
