import type { Caller } from '../../../domain/access.ts'
import { type ApprovalKind, type ApprovalStatus, requirePending } from '../../../domain/approval.ts'
import { notFound, STATUS_OF } from '../../../domain/errors.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { ControlEventBus } from '../../events.ts'
import { forEach } from '../../module.ts'
import type { Approval, ApprovalsStore } from './approvals.store.ts'

/** How one kind of request is carried out; registered by the service that the request belongs to. */
export interface ApprovalHandler<Payload> {
  /**
   * Does it as its requester, in one transaction that awaits `settle` first.
   * @throws a ServiceError if what it changes has changed since the request
   */
  carryOut(requester: Caller, payload: Payload, settle: (tx: Executor) => Promise<void>): Promise<void>
  /** In the transaction in which it ends without being carried out. */
  drop?(tx: Executor, payload: Payload, reason: string): Promise<void>
}

export const auditedOf = ({ kind, subject, title, status, reason }: Approval) => ({
  kind,
  subject,
  title,
  status,
  reason,
})

/** How requests end, each once: carried out, or dropped. */
export const createApprovalEnds = (parts: {
  readonly database: Database
  readonly store: ApprovalsStore
  readonly events: ControlEventBus
  readonly now: () => Date
}) => {
  const { database, store, events, now } = parts
  const handlers = new Map<ApprovalKind, ApprovalHandler<never>>()
  const handlerOf = ({ kind }: Approval): ApprovalHandler<unknown> => handlers.get(kind) as ApprovalHandler<unknown>

  /** In a transaction: ends a pending request. */
  const decide = async (
    tx: Executor,
    id: string,
    decision: { readonly status: ApprovalStatus; readonly by: string | null; readonly reason: string | null },
  ): Promise<Approval> => {
    const locked = await store.lock(tx, id)
    if (locked === null) throw notFound('Approval', id)
    if (decision.status !== 'expired') requirePending(locked, now())
    else if (locked.status !== 'pending') return locked
    const { status, by: decidedBy, reason } = decision
    const decided = { ...locked, status, decidedAt: now(), decidedBy, reason }
    await store.decide(tx, id, decided)
    await events.publish(tx, 'approval.changed', decided)
    auditNote({
      kind: 'approval',
      id,
      orgId: locked.orgId,
      before: { status: 'pending' },
      after: auditedOf(decided),
      ...(status === 'failed' && { failedWith: STATUS_OF.conflict }),
    })
    return decided
  }

  const drop = (
    id: string,
    status: 'rejected' | 'cancelled' | 'expired' | 'failed',
    { by, reason }: { readonly by: string | null; readonly reason: string },
  ): Promise<void> =>
    database.transaction(async (tx) => {
      const decided = await decide(tx, id, { status, by, reason })
      if (decided.status === status) await handlerOf(decided).drop?.(tx, decided.payload, reason)
    })

  const expire = async (): Promise<void> => {
    const end = { by: null, reason: 'Nobody decided it within a week.' }
    await forEach(await store.due(database.sql, now()), (id) => drop(id, 'expired', end))
  }

  return {
    /** A kind that may need an approval. Called when its module is created. */
    handle<Payload>(kind: ApprovalKind, handler: ApprovalHandler<Payload>): void {
      handlers.set(kind, handler as unknown as ApprovalHandler<never>)
    },
    handlerOf,
    decide,
    drop,
    expire,
  }
}
