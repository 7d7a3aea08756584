import { type Target, targetKey, targetsOf } from '../../../domain/delivery-plan.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Context } from '../../context.ts'
import type { PlanSource } from './delivery-plans.service.ts'
import { plansReport } from './plans.report.ts'
import { plansStore } from './plans.store.ts'

/** Refuses to delete versions that plans in force deliver, or that plans which have not started will deliver. */
export const keepDeliveredVersions = (
  { events }: Pick<Context, 'events'>,
  { sources }: { readonly sources: () => readonly PlanSource[] },
): void =>
  events.inTransaction('version.deleted', async (tx, { modelId, version }) => {
    await plansStore.lockRevision(tx)
    const uses: { readonly plan: string; readonly target: Target }[] = (await plansStore.waiting(tx, modelId)).map(
      ({ kind, id, ...target }) => ({ plan: `${kind} ${id}`, target: { ...target, modelId, modelName: null } }),
    )
    for (const source of sources())
      for (const plan of await source.load(tx, plansReport))
        uses.push(...targetsOf(plan).map((target) => ({ plan: `${plan.kind} ${plan.id}`, target })))
    const ofModel = uses.filter(({ target }) => target.modelId === modelId)
    const offers = await plansReport.offers(
      tx,
      ofModel.map(({ target }) => target),
    )
    const use = ofModel.find(({ target }) => offers.get(targetKey(target))?.versionNumber === version)
    if (use !== undefined)
      throw conflict(
        `This version is used by ${use.plan}. End it or roll it back, or deliver another version to all of its devices, before you ` +
          'delete the version.',
      )
  })
