import { actorOf, type Caller, holds, sees } from '../../../domain/access.ts'
import {
  APPROVAL_KINDS,
  type ApprovalKind,
  type ApprovalStatus,
  approvalEnd,
  requirePending,
} from '../../../domain/approval.ts'
import { conflict, forbidden, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { ROLE_SCOPES } from '../../../domain/roles.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { ControlEventBus } from '../../events.ts'
import { catchUp } from '../../module.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { PeopleService } from '../people/people.service.ts'
import type { SettingsService } from '../settings/settings.service.ts'
import { auditedOf, createApprovalEnds } from './approval-ends.service.ts'
import type { Approval, ApprovalsStore, ShownApproval } from './approvals.store.ts'

export type { Approval, ShownApproval } from './approvals.store.ts'

const MAX_PENDING = 1000
/** How long decided requests are shown; the audit log keeps them longer. */
const KEPT_MS = 365 * 24 * 60 * 60 * 1000

export type NewApproval = Pick<Approval, 'orgId' | 'kind' | 'subject' | 'title' | 'payload'>

/** What one admin requests and another one approves: a week long, and only as it was requested. */
export const createApprovals = (parts: {
  readonly database: Database
  readonly store: ApprovalsStore
  readonly settings: Pick<SettingsService, 'of'>
  readonly people: Pick<PeopleService, 'known' | 'countAdmins'>
  readonly keys: Pick<KeysService, 'callerById'>
  readonly events: ControlEventBus
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, settings, people, keys, events, now, newId } = parts
  const { handle, handlerOf, decide, drop, expire } = createApprovalEnds({ database, store, events, now })

  const get = async (caller: Caller, id: string): Promise<ShownApproval> => {
    const found = isUuid(id) ? await store.find(database.sql, id) : null
    if (found === null || !sees(caller, found.orgId)) throw notFound('Approval', id)
    return found
  }

  /** @throws conflict if the requester would no longer be allowed to request it */
  const requireStanding = async ({ requester, kind }: Approval): Promise<void> => {
    const scope = APPROVAL_KINDS[kind]
    if (requester.personId !== undefined) {
      const person = await people.known(requester.personId)
      // Their own key may have been revoked because somebody else has it.
      const isKeyValid = requester.sessionId !== undefined || (await keys.callerById(requester.keyId)) !== null
      if (person !== null && isKeyValid && ROLE_SCOPES[person.role].includes(scope)) return
    } else if (requester.keyId === requester.sessionId) return
    else {
      const caller = await keys.callerById(requester.keyId)
      if (caller !== null && holds(caller, scope)) return
    }
    throw conflict('The requester is no longer allowed to do this.')
  }

  /** @throws forbidden unless the caller is another admin's person than those behind the request */
  const requireOther = ({ people: behind, orgId }: Approval, { personId }: Caller): string => {
    if (personId === undefined)
      throw forbidden('Only a person can approve: sign in, or use your own key of `svc login`, not a service key.')
    if (behind.includes(personId))
      throw forbidden(`You requested this, or made the key that did. Another admin of '${orgId}' must approve it.`)
    return personId
  }

  return {
    handle,
    expire,
    get,

    /** Whether the organization wants a second admin. */
    isNeeded: async (orgId: string | null, db: Executor = database.sql): Promise<boolean> =>
      orgId !== null && (await settings.of(orgId, db)).requireApproval,

    /** The id of the request that waits for this; null: none does. */
    pendingOf: async (kind: ApprovalKind, subject: string): Promise<string | null> =>
      (await store.findPending(database.sql, kind, subject))?.id ?? null,

    /** The error of an organization that has no one who could approve. */
    async warningsOf(orgId: string): Promise<string[]> {
      const admins = await people.countAdmins(orgId)
      if (admins >= 2) return []
      const has = admins === 0 ? 'no admin' : 'one admin'
      return [`Approvals need two admins, and '${orgId}' has ${has}: invite another with svc team add --role admin.`]
    },

    /** In the transaction of what waits for it. @throws conflict when the same waits already */
    async request(tx: Executor, caller: Caller, wanted: NewApproval): Promise<Approval> {
      if ((await store.countPending(tx, wanted.orgId)) >= MAX_PENDING)
        throw conflict(
          `${MAX_PENDING} requests of '${wanted.orgId}' are waiting for approval. Approve or reject some first.`,
        )
      const waiting = await store.findPending(tx, wanted.kind, wanted.subject)
      if (waiting !== null)
        throw conflict(
          `A request of this kind is already waiting for approval: ${waiting.title} (${waiting.id}). Approve, reject or cancel it first.`,
        )
      const { restriction: _, ...requester } = caller
      const behind = await store.peopleBehind(tx, caller.keyId)
      const approval: Approval = {
        ...wanted,
        id: newId(),
        requester,
        people: [...new Set([...behind, ...(caller.personId === undefined ? [] : [caller.personId])])],
        status: 'pending',
        requestedAt: now(),
        expiresAt: approvalEnd(now()),
        decidedAt: null,
        decidedBy: null,
        reason: null,
      }
      await store.insert(tx, approval)
      await events.publish(tx, 'approval.changed', approval)
      auditNote({ kind: 'approval', id: approval.id, orgId: approval.orgId, after: auditedOf(approval) })
      return approval
    },

    /** Newest first. */
    async list(
      caller: Caller,
      { orgId, status }: { readonly orgId: string | undefined; readonly status: ApprovalStatus | undefined },
      { before, limit }: { readonly before: number | null; readonly limit: number },
    ): Promise<{ approvals: ShownApproval[]; next: number | null }> {
      if (orgId !== undefined && !sees(caller, orgId)) return { approvals: [], next: null }
      await catchUp(expire)
      const filter = { orgId: orgId ?? caller.orgId, status }
      const found = await store.page(database.sql, filter, { before, limit: limit + 1 })
      const approvals = found.slice(0, limit)
      return { approvals, next: found.length > limit ? approvals.at(-1)!.ordinal : null }
    },

    /**
     * Carries it out. Where that cannot be done as it was requested, the request has failed and nothing else is changed.
     * @throws forbidden for the person behind the request, conflict when it is decided, over or outdated
     */
    async approve(caller: Caller, id: string): Promise<ShownApproval> {
      const approval = await get(caller, id)
      const by = requireOther(approval, caller)
      requirePending(approval, now())
      let refusal: unknown
      const settle = async (tx: Executor): Promise<void> => {
        await decide(tx, id, { status: 'approved', by, reason: null }).catch((error: unknown) => {
          refusal = error
          throw error
        })
      }
      try {
        await requireStanding(approval)
        await handlerOf(approval).carryOut(approval.requester, approval.payload, settle)
      } catch (error) {
        if (error === refusal || !(error instanceof ServiceError) || error.statusCode >= 500) throw error
        await drop(id, 'failed', { by, reason: error.message })
        throw conflict(`It was not carried out, and the request has ended: ${error.message}`)
      }
      return get(caller, id)
    },

    async reject(caller: Caller, id: string, reason: string): Promise<ShownApproval> {
      await get(caller, id)
      await drop(id, 'rejected', { by: actorOf(caller), reason })
      return get(caller, id)
    },

    /** Withdraws it; allowed to its requester and to admins. */
    async cancel(caller: Caller, id: string): Promise<ShownApproval> {
      const approval = await get(caller, id)
      if (actorOf(caller) !== actorOf(approval.requester) && !holds(caller, 'admin'))
        throw forbidden('Only the requester or an admin can cancel it.')
      await drop(id, 'cancelled', { by: actorOf(caller), reason: 'Canceled.' })
      return get(caller, id)
    },

    deleteDecided: (): Promise<void> => store.deleteDecided(database.sql, new Date(now().getTime() - KEPT_MS)),
  }
}

export type Approvals = ReturnType<typeof createApprovals>
