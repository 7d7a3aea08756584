import { ownEntry } from '../../../domain/own-entry.ts'
import type { Audit, StoredEntry } from '../../access/audit/audit.service.ts'
import type { Context } from '../../context.ts'
import { isLater } from '../events/outbox.service.ts'
import { deliveriesStore, type Place, type PlacedEvent } from './deliveries.store.ts'
import type { Batch, StoredIntegration } from './integrations.store.ts'
import type { LogEvent } from './log-messages.ts'

const AT_ONCE = 100

/** What log integrations have not received yet: the event stream and, if requested, entries of the audit log. */
export const createLogEvents = (
  { database }: Context,
  {
    audit,
    presentEntry,
  }: {
    readonly audit: Pick<Audit, 'ends' | 'after'>
    /** An entry as `GET /api/v1/audit` shows it. */
    readonly presentEntry: (entry: StoredEntry) => Readonly<Record<string, unknown>>
  },
) => {
  /** The id distinguishes it from events of the stream. */
  const auditEvent = (entry: StoredEntry): LogEvent => ({
    id: `audit-${entry.id}`,
    type: `audit.${entry.action}`,
    org_id: entry.orgId || null,
    subject: { kind: entry.objectKind ?? 'request', id: entry.objectId ?? entry.requestId },
    payload: presentEntry(entry),
    time: entry.at.toISOString(),
  })

  /** The next events, then the next entries of each chain in order; given a batch, only those in it. */
  const upTo = async ({ id, orgId, auditCursor }: StoredIntegration, batch: Batch | null): Promise<PlacedEvent[]> => {
    const events = await deliveriesStore.pendingEvents(database.sql, id, AT_ONCE)
    const found = events.filter(({ place }) => batch === null || isIn(batch, place))
    if (auditCursor === null) return found
    for (const [org, end] of Object.entries(await audit.ends(orgId))) {
      const reached = ownEntry(auditCursor, org) ?? 0
      if (end <= reached || found.length >= AT_ONCE) continue
      const entries = (await audit.after(org, reached, AT_ONCE - found.length))
        .map((entry): PlacedEvent => ({ event: auditEvent(entry), place: placeOf(entry) }))
        .filter(({ place }) => batch === null || isIn(batch, place))
      found.push(...entries)
    }
    return found
  }

  return {
    /** Returns the batch to repeat, or the next events and entries; empty if there are none. */
    async pending(integration: StoredIntegration): Promise<readonly PlacedEvent[]> {
      const repeated = integration.batch === null ? [] : await upTo(integration, integration.batch)
      // Retention may have deleted it.
      return repeated.length > 0 ? repeated : upTo(integration, null)
    },
  }
}

const isIn = ({ event, audit }: Batch, place: Place): boolean => {
  if (place.from === 'audit') return place.seq <= (ownEntry(audit, place.orgId) ?? 0)
  return event !== null && !isLater(place.position, event)
}

const placeOf = ({ orgId, seq }: StoredEntry): Place => ({ from: 'audit', orgId, seq })

export type LogEvents = ReturnType<typeof createLogEvents>
