import type { Audit, StoredEntry } from '../../access/audit/audit.service.ts'
import type { Context } from '../../context.ts'
import { deliveriesStore, type Place, type PlacedEvent } from './deliveries.store.ts'
import type { StoredIntegration } from './integrations.store.ts'
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

  return {
    /** Returns the next ones: events, then entries of each chain in order. */
    async pending({ id, orgId, auditCursor }: StoredIntegration): Promise<readonly PlacedEvent[]> {
      const found = await deliveriesStore.pendingEvents(database.sql, id, AT_ONCE)
      if (auditCursor === null) return found
      for (const [org, end] of Object.entries(await audit.ends(orgId))) {
        const reached = auditCursor[org] ?? 0
        if (end <= reached || found.length >= AT_ONCE) continue
        const entries = await audit.after(org, reached, AT_ONCE - found.length)
        found.push(...entries.map((entry): PlacedEvent => ({ event: auditEvent(entry), place: placeOf(entry) })))
      }
      return found
    },
  }
}

const placeOf = ({ orgId, seq }: StoredEntry): Place => ({ from: 'audit', orgId, seq })

export type LogEvents = ReturnType<typeof createLogEvents>
