import type { PlanEvent } from './delivery-plans.service.ts'

/** A page of a plan's events. */
export const presentHistory = (
  { events, total }: { readonly events: readonly PlanEvent[]; readonly total: number },
  { limit, offset }: { readonly limit: number; readonly offset: number },
) => ({ events: events.map((event) => ({ ...event, at: event.at.toISOString() })), total, limit, offset })
