import { actorOf, type Caller, holds, keyBehind, sees } from '../../../domain/access.ts'
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
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { PeopleService } from '../people/people.service.ts'
import type { SettingsService } from '../settings/settings.service.ts'
import { auditedOf, createApprovalEnds } from './approval-ends.service.ts'
import { type Approval, type ApprovalView, approvalsStore } from './approvals.store.ts'

export type { Approval, ApprovalView } from './approvals.store.ts'

const MAX_PENDING = 1000
const MAX_PENDING_OF_ONE = 100
/** How long decided requests are shown; the audit log keeps them longer. */
const KEPT_MS = 365 * 24 * 60 * 60 * 1000

export type NewApproval = Pick<Approval, 'orgId' | 'kind' | 'subject' | 'title' | 'payload'>

const alreadyWaiting = (waiting: { readonly id: string; readonly title: string } | null): Error =>
  conflict(
    waiting === null
      ? 'Another request of this kind was made at the same time. Check what it changed, and request yours again.'
      : `A request of this kind is already waiting for approval: ${waiting.title} (${waiting.id}). Approve, reject, or cancel it first.`,
  )

interface ApprovalParts {
  readonly settings: Pick<SettingsService, 'of'>
  readonly people: Pick<PeopleService, 'known' | 'countAdmins'>
  readonly keys: Pick<KeysService, 'newestCallerOf'>
}

/** @throws conflict if the requester is no longer allowed to request it */
const createStandingCheck =
  ({ people, keys }: Pick<ApprovalParts, 'people' | 'keys'>) =>
  async ({ requester, kind }: Approval): Promise<void> => {
    const scope = APPROVAL_KINDS[kind]
    const { personId } = requester
    const person = personId === undefined ? null : await people.known(personId)
    const isPersonAllowed = person !== null && ROLE_SCOPES[person.role].includes(scope)
    // A key may have been revoked because somebody else has it. Its replacement stands for the same requester.
    const ownKey = keyBehind(requester)
    const caller = ownKey === null ? null : await keys.newestCallerOf(ownKey)
    const isKeyAllowed = ownKey === null || (caller !== null && holds(caller, scope))
    if ((personId === undefined || isPersonAllowed) && isKeyAllowed) return
    throw conflict('The requester is no longer allowed to do this.')
  }

/** Requests that another admin must approve: valid for a week, and carried out only as they were requested. */
export const createApprovals = (context: Context, parts: ApprovalParts) => {
  const { database, events, now, newId } = context
  const { settings, people } = parts
  const { handle, handlerOf, decide, drop, cancelIn, expire, expireIn } = createApprovalEnds(context)

  const get = async (caller: Caller, id: string): Promise<ApprovalView> => {
    const found = isUuid(id) ? await approvalsStore.find(database.sql, id) : null
    if (found === null || !sees(caller, found.orgId)) throw notFound('Approval', id)
    return found
  }

  const requireStanding = createStandingCheck(parts)

  /** @throws conflict if the same is already waiting, or too many requests are */
  const requireRoom = async (tx: Executor, caller: Caller, { orgId, kind, subject }: NewApproval): Promise<void> => {
    const waiting = await approvalsStore.findPending(tx, kind, subject)
    // It has expired, but the periodic task has not ended it yet.
    if (waiting !== null && waiting.expiresAt <= now()) await expireIn(tx, waiting.id)
    else if (waiting !== null) throw alreadyWaiting(waiting)
    const { all, own } = await approvalsStore.countPending(tx, { orgId, actor: actorOf(caller), now: now() })
    if (own >= MAX_PENDING_OF_ONE)
      throw conflict(
        `${MAX_PENDING_OF_ONE} requests of this requester are waiting for approval. Cancel some, or wait for decisions.`,
      )
    if (all >= MAX_PENDING)
      throw conflict(`${MAX_PENDING} requests of '${orgId}' are waiting for approval. Approve or reject some first.`)
  }

  /** @throws forbidden unless the caller is a person other than those behind the request */
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

    /** Whether the organization requires a second admin. */
    isNeeded: async (orgId: string | null, db: Executor = database.sql): Promise<boolean> =>
      orgId !== null && (await settings.of(orgId, db)).requireApproval,

    /** The id of the request that waits for this; null if there is none. */
    async pendingOf(kind: ApprovalKind, subject: string): Promise<string | null> {
      const waiting = await approvalsStore.findPending(database.sql, kind, subject)
      return waiting === null || waiting.expiresAt <= now() ? null : waiting.id
    },

    /** Cancels the request that waits for this, in the transaction that makes it pointless. */
    async withdraw(tx: Executor, kind: ApprovalKind, subject: string, reason: string): Promise<void> {
      const waiting = await approvalsStore.findPending(tx, kind, subject)
      if (waiting === null) return
      await (waiting.expiresAt <= now() ? expireIn(tx, waiting.id) : cancelIn(tx, waiting.id, reason))
    },

    /** Warns if the organization has no one who could approve. */
    async warningsOf(orgId: string): Promise<string[]> {
      const admins = await people.countAdmins(orgId)
      if (admins >= 2) return []
      const has = admins === 0 ? 'no admin' : 'one admin'
      return [`Approvals need two admins, and '${orgId}' has ${has}: invite another with svc team add --role admin.`]
    },

    /** Call it in the transaction of the change that waits. @throws conflict if the same is already waiting */
    async request(tx: Executor, caller: Caller, wanted: NewApproval): Promise<Approval> {
      await requireRoom(tx, caller, wanted)
      const { restriction: _, ...requester } = caller
      const behind = await approvalsStore.peopleBehind(tx, caller.keyId)
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
      // A concurrent request was faster. If it was already decided, the message cannot name it.
      if (!(await approvalsStore.insert(tx, approval)))
        throw alreadyWaiting(await approvalsStore.findPending(tx, wanted.kind, wanted.subject))
      await events.publish(tx, 'approval.changed', approval)
      auditNote({ kind: 'approval', id: approval.id, orgId: approval.orgId, after: auditedOf(approval) })
      return approval
    },

    /** Newest first. */
    async list(
      caller: Caller,
      { orgId, status }: { readonly orgId: string | undefined; readonly status: ApprovalStatus | undefined },
      { before, limit }: { readonly before: number | null; readonly limit: number },
    ): Promise<{ approvals: ApprovalView[]; next: number | null }> {
      if (orgId !== undefined && !sees(caller, orgId)) return { approvals: [], next: null }
      await runDue(expire)
      const filter = { orgId: orgId ?? caller.orgId, status }
      const found = await approvalsStore.page(database.sql, filter, { before, limit: limit + 1 })
      const approvals = found.slice(0, limit)
      return { approvals, next: found.length > limit ? approvals.at(-1)!.ordinal : null }
    },

    /**
     * Carries out the request. If that cannot be done as requested, the request fails and nothing else changes.
     * @throws forbidden for a person behind the request, conflict if it is decided, expired or outdated
     */
    async approve(caller: Caller, id: string): Promise<ApprovalView> {
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

    async reject(caller: Caller, id: string, reason: string): Promise<ApprovalView> {
      await get(caller, id)
      await drop(id, 'rejected', { by: actorOf(caller), reason })
      return get(caller, id)
    },

    /** Withdraws the request; allowed for its requester and for admins. */
    async cancel(caller: Caller, id: string): Promise<ApprovalView> {
      const approval = await get(caller, id)
      if (actorOf(caller) !== actorOf(approval.requester) && !holds(caller, 'admin'))
        throw forbidden('Only the requester or an admin can cancel it.')
      await drop(id, 'cancelled', { by: actorOf(caller), reason: 'Canceled.' })
      return get(caller, id)
    },

    deleteDecided: (): Promise<void> => approvalsStore.deleteDecided(database.sql, new Date(now().getTime() - KEPT_MS)),
  }
}

export type Approvals = ReturnType<typeof createApprovals>
