import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { createFederationChanges } from './federation-changes.service.ts'
import { federationsRoutes } from './federations.routes.ts'
import { createFederationsService } from './federations.service.ts'
import { createLedger } from './ledger.service.ts'
import { createMembersService } from './members.service.ts'
import { createPrivacyService } from './privacy.service.ts'
import { createPrivacyForecasts } from './privacy-forecasts.service.ts'
import { sharedModelsReport } from './shared-models.report.ts'
import { createSharedModelsService } from './shared-models.service.ts'
import { isSharedByHand, sharedModelsStore } from './shared-models.store.ts'

const create = (context: Context, { catalog }: { readonly catalog: Catalog }) => {
  const { models, roundResults } = catalog
  const { isSharedWith, keepShared } = sharedModelsStore
  models.readThrough({ isSharedWith, keepShared, idByName: sharedModelsReport.idByName })
  const ledger = createLedger(context)
  const changed = createFederationChanges(context.events)
  const federations = createFederationsService(context, { changed })
  const members = createMembersService(context, { federations, changed })
  const sharedModels = createSharedModelsService(context, {
    models,
    federations,
    changed,
  })
  const privacy = createPrivacyService(context, { ledger, federations, changed })
  const forecasts = createPrivacyForecasts(context, { ledger, federations })
  roundResults.keepUsed(isSharedByHand)
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
