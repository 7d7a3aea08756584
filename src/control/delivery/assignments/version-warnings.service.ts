import { type Target, targetKey } from '../../../domain/delivery-plan.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { plansReport } from './plans.report.ts'
import { plansStore } from './plans.store.ts'

/** Returns why devices do not get this version of a catalog model from a plan, or should not. */
export const versionWarnings = async (
  db: Executor,
  target: Target & { readonly modelId: string },
  { isOver }: { readonly isOver: boolean },
): Promise<string[]> => {
  const { modelId, version, versionNumber = null } = target
  const offer = (await plansReport.offers(db, [target])).get(targetKey(target))
  if (offer === undefined)
    return [
      versionNumber === null
        ? `Version ${version} has not been uploaded yet: devices get nothing until it is.`
        : `Version ${version} was deleted: devices get nothing.`,
    ]
  const former = isOver ? null : await plansStore.lastFailed(db, modelId, offer.versionNumber!)
  return former === null
    ? []
    : [`Version ${version} was withdrawn from devices before, by ${former.kind} ${former.id}: ${former.reason}`]
}
