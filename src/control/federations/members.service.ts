import { type Caller, requireOwnOrg, sees } from '../../domain/access.ts'
import { conflict, forbidden, notFound } from '../../domain/errors.ts'
import { auditNote } from '../audit-note.ts'
import type { Context } from '../context.ts'
import type { FederationChanges } from './federation-changes.service.ts'
import type { FederationsService, ListedFederation, Page, StoredFederation } from './federations.service.ts'
import { federationsStore } from './federations.store.ts'
import { type JoinedMember, membersStore } from './members.store.ts'

/** What an organization's devices have contributed; accuracy and loss are weighted by samples. */
export interface Contribution {
  readonly roundsContributed: number
  readonly totalSamples: number
  readonly avgAccuracy: number | null
  readonly avgLoss: number | null
  readonly lastContributionAt: Date | null
}

/** The same for other members: accuracy and loss only of rounds in which enough of the organization's devices took part. */
export interface MemberContribution extends Contribution {
  readonly visibleAccuracy: number | null
  readonly visibleLoss: number | null
}

/** Contributions by organization; omits those that have contributed nothing. */
type ContributionsTo = (federationId: string) => Promise<ReadonlyMap<string, MemberContribution>>

/** A member, and what its devices contributed to the federation's completed rounds. */
export type Member = JoinedMember & Contribution

const NO_CONTRIBUTION: MemberContribution = {
  roundsContributed: 0,
  totalSamples: 0,
  avgAccuracy: null,
  avgLoss: null,
  lastContributionAt: null,
  visibleAccuracy: null,
  visibleLoss: null,
}

/** Manages the members of a federation: invitations, joining, and leaving. */
export const createMembersService = (
  { database, events, now }: Context,
  {
    federations,
    changed,
  }: {
    readonly federations: FederationsService
    readonly changed: FederationChanges
  },
) => {
  let contributionsTo: ContributionsTo = async () => new Map()

  return {
    /** Leaves members and invited organizations unchanged. */
    async invite(caller: Caller, id: string, orgIds: readonly string[]) {
      const federation = await federations.getAsOwner(caller, id)
      const requested = [...new Set(orgIds)]
      const added = await database.transaction(async (tx) => {
        const invited = await membersStore.invite(tx, federation.id, requested, now())
        if (invited.size > 0) await changed(tx, federation.id)
        auditNote({ kind: 'federation', ...federation, after: { invited: [...invited] } })
        return invited
      })
      return {
        federation,
        invited: requested.filter((orgId) => added.has(orgId)),
        skipped: requested.filter((orgId) => !added.has(orgId)),
      }
    },

    /** Accepts an invitation. An unbound key can also add an organization without one. Joining twice changes nothing. */
    async join(caller: Caller, id: string, orgId: string): Promise<ListedFederation> {
      const { federation } = await federations.get(caller, id)
      requireOwnOrg(caller, orgId)
      const joined = await database.transaction(async (tx) => {
        const isMember = await membersStore.join(tx, id, orgId, { uninvited: caller.orgId === null, at: now() })
        if (isMember) await changed(tx, id)
        auditNote({ kind: 'federation', ...federation, orgId, after: isMember ? { joined: orgId } : {} })
        return isMember
      })
      if (!joined) throw notFound('Federation', id)
      return (await federationsStore.find(database.sql, id, orgId))!
    },

    /** The owner can remove any other member, and a member itself; this also withdraws or declines an invitation. */
    async removeMember(caller: Caller, id: string, orgId: string): Promise<StoredFederation> {
      const { federation } = await federations.get(caller, id)
      if (orgId === federation.orgId) throw conflict(`'${orgId}' owns the federation and cannot leave it.`)
      if (!sees(caller, federation.orgId) && !sees(caller, orgId)) {
        throw forbidden(`Only '${orgId}' itself and the owner, '${federation.orgId}', can end this membership.`)
      }
      await database.transaction(async (tx) => {
        if (!(await membersStore.remove(tx, id, orgId))) {
          throw notFound('Member', orgId, `of federation '${federation.name}'`)
        }
        await events.publish(tx, 'member.left', { federationId: id, orgId })
        await changed(tx, id, [orgId])
        // The audit entry belongs to the organization that ended the membership: the owner, or the member itself.
        const ended = sees(caller, federation.orgId) ? federation.orgId : orgId
        auditNote({ kind: 'federation', ...federation, orgId: ended, before: { member: orgId } })
      })
      return federation
    },

    /** Training calls this when it is created, to provide the contributions of members. */
    countContributions(response: ContributionsTo): void {
      contributionsTo = response
    },

    async list(caller: Caller, id: string, page: Page): Promise<{ members: Member[]; total: number }> {
      const federation = await federations.getAsMember(caller, id)
      const found = await membersStore.list(database.sql, federation.id, page)
      const contributed = await contributionsTo(federation.id)
      const withContribution = (member: JoinedMember): Member => {
        const { visibleAccuracy, visibleLoss, ...own } = contributed.get(member.orgId) ?? NO_CONTRIBUTION
        const others = { avgAccuracy: visibleAccuracy, avgLoss: visibleLoss }
        return { ...own, ...(sees(caller, member.orgId) ? {} : others), ...member }
      }
      return { members: found.members.map(withContribution), total: found.total }
    },
  }
}

export type MembersService = ReturnType<typeof createMembersService>
