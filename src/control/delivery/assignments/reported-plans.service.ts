import type { Context } from '../../context.ts'
import { createRetries } from '../../retries.ts'
import { type ReportedPlan, reportsStore } from './reports.store.ts'

/**
 * Acts on devices' reports. The statement that stores a report marks its plan, and the mark stays until the plan has been
 * checked: a check that fails or is interrupted is repeated by the ticks of any process.
 */
export const createReportedPlans = (
  context: Pick<Context, 'database' | 'now' | 'log'>,
  check: Readonly<Record<ReportedPlan['kind'], (planId: string) => Promise<void>>>,
) => {
  const { database, log } = context
  const attempt = createRetries(context, log, 'a plan with new reports could not be checked; it will be retried')

  const checkMarked = async (planIds: ReadonlySet<string> | null): Promise<void> => {
    const marks = await reportsStore.reported(database.sql, planIds)
    const marked = new Map(marks.map(({ planId, kind }) => [planId, kind]))
    const checked = new Set<string>()
    for (const [planId, kind] of marked)
      if (await attempt(planId, { plan_id: planId, kind }, () => check[kind](planId))) checked.add(planId)
    const failed = [...marked.keys()].filter((planId) => !checked.has(planId))
    // While checks of a plan fail, reports keep arriving. A new mark replaces its marks: another process may have read the old
    // ones, and remove them although it has not seen the latest reports.
    const isPiledUp = failed.length > 0 && marks.length > marked.size
    if (isPiledUp) await reportsStore.markReported(database.sql, failed)
    const done = marks.filter(({ planId }) => isPiledUp || checked.has(planId)).map(({ ordinal }) => ordinal)
    if (done.length > 0) await reportsStore.unmark(database.sql, done)
  }

  return {
    /** Checks those of these plans that have new reports. Errors of one do not stop the others. */
    check: (planIds: ReadonlySet<string>): Promise<void> => checkMarked(planIds),
    tick: (): Promise<void> => checkMarked(null),
  }
}
