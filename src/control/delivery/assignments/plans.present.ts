import type { PlanEvent } from './delivery-plans.service.ts'

/** A time in a query. */
export const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text))

/** A page of a plan's events. */
export const presentHistory = (
  { events, total }: { readonly events: readonly PlanEvent[]; readonly total: number },
  { limit, offset }: { readonly limit: number; readonly offset: number },
) => ({ events: events.map((event) => ({ ...event, at: event.at.toISOString() })), total, limit, offset })
