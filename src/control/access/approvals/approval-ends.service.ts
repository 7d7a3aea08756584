import type { Caller } from '../../../domain/access.ts'
import { type ApprovalKind, type ApprovalStatus, requirePending } from '../../../domain/approval.ts'
import { notFound, STATUS_OF } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote, unaudited } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { forEach } from '../../periodic-tasks.ts'
import { type Approval, approvalsStore } from './approvals.store.ts'

/** Carries out one kind of request; registered by the service that the request belongs to. */
export interface ApprovalHandler<Payload> {
  /**
   * Acts as the requester, in one transaction that awaits `settle` first.
   * @throws a ServiceError if the object has changed since the request
   */
  carryOut(requester: Caller, payload: Payload, settle: (tx: Executor) => Promise<void>): Promise<void>
  /** Called in the transaction in which the request ends without being carried out. */
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
export const createApprovalEnds = ({ database, events, now }: Context) => {
  const handlers = new Map<ApprovalKind, ApprovalHandler<never>>()
  const handlerOf = ({ kind }: Approval): ApprovalHandler<unknown> => handlers.get(kind) as ApprovalHandler<unknown>

  /** Ends a pending request, in a transaction. */
  const decide = async (
    tx: Executor,
    id: string,
    decision: { readonly status: ApprovalStatus; readonly by: string | null; readonly reason: string | null },
  ): Promise<Approval> => {
    const locked = await approvalsStore.lock(tx, id)
    if (locked === null) throw notFound('Approval', id)
    if (decision.status !== 'expired') requirePending(locked, now())
    else if (locked.status !== 'pending') return locked
    const { status, by: decidedBy, reason } = decision
    const decided = { ...locked, status, decidedAt: now(), decidedBy, reason }
    await approvalsStore.decide(tx, id, decided)
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

  const dropIn = async (
    tx: Executor,
    id: string,
    status: 'rejected' | 'cancelled' | 'expired' | 'failed',
    { by, reason }: { readonly by: string | null; readonly reason: string },
  ): Promise<void> => {
    const decided = await decide(tx, id, { status, by, reason })
    if (decided.status === status) await handlerOf(decided).drop?.(tx, decided.payload, reason)
  }

  const drop = (
    id: string,
    status: 'rejected' | 'cancelled' | 'failed',
    end: { readonly by: string | null; readonly reason: string },
  ): Promise<void> => database.transaction((tx) => dropIn(tx, id, status, end))

  /** Ends a request that has become pointless, in the transaction that is the reason. */
  const cancelIn = (tx: Executor, id: string, reason: string): Promise<void> =>
    unaudited(() => dropIn(tx, id, 'cancelled', { by: null, reason }))

  /** Ends an expired request, in a transaction. */
  const expireIn = (tx: Executor, id: string): Promise<void> =>
    unaudited(() => dropIn(tx, id, 'expired', { by: null, reason: 'No admin approved or rejected it within a week.' }))

  /** Ends all expired requests. */
  const expire = async (): Promise<void> => {
    const due = await approvalsStore.due(database.sql, now())
    await unaudited(() => forEach(due, (id) => database.transaction((tx) => expireIn(tx, id))))
  }

  return {
    /** Registers a kind that may need an approval. Call it when its module is created. */
    handle<Payload>(kind: ApprovalKind, handler: ApprovalHandler<Payload>): void {
      handlers.set(kind, handler as unknown as ApprovalHandler<never>)
    },
    handlerOf,
    decide,
    drop,
    cancelIn,
    expire,
    expireIn,
  }
}
