import { type Caller, requireOwnOrg, sees } from '../../domain/access.ts'
import { badRequest, forbidden, notFound } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import type { Executor } from '../../platform/db/open.ts'
import { auditNote } from '../audit-note.ts'
import type { Context } from '../context.ts'
import type { FederationChanges } from './federation-changes.service.ts'
import { federationsStore, type ListedFederation, type StoredFederation } from './federations.store.ts'
import { membersStore } from './members.store.ts'

export type { ListedFederation, StoredFederation } from './federations.store.ts'

export interface Page {
  readonly limit: number
  readonly offset: number
}

/** Federations: organizations that train together, share models, and have a common privacy budget. */
export const createFederationsService = (
  { database, now, newId }: Pick<Context, 'database' | 'now' | 'newId'>,
  { changed }: { readonly changed: FederationChanges },
) => {
  /** @throws not_found if the caller cannot see it: a bound key sees those that it is a member of or invited to */
  const get = async (caller: Caller, id: string): Promise<ListedFederation> => {
    const found = isUuid(id) ? await federationsStore.find(database.sql, id, caller.orgId) : null
    if (found === null || (caller.orgId !== null && found.membership === null)) throw notFound('Federation', id)
    return found
  }

  /** Like `get`, but only for active members. */
  const getAsMember = async (caller: Caller, id: string): Promise<StoredFederation> => {
    const { federation, membership } = await get(caller, id)
    if (caller.orgId !== null && membership?.status !== 'active') throw notYetActive(caller.orgId, federation)
    return federation
  }

  /** Like `get`, but only for the owner. Callers that know only the id get forbidden; only members learn more. */
  const getAsOwner = async (caller: Caller, id: string): Promise<StoredFederation> => {
    const found = isUuid(id) ? await federationsStore.find(database.sql, id, caller.orgId) : null
    if (found === null) throw notFound('Federation', id)
    const { federation, membership } = found
    if (sees(caller, federation.orgId)) return federation
    throw forbidden(
      membership === null
        ? `Federation '${id}' does not belong to '${caller.orgId}': only its owner may do this.`
        : `Federation '${federation.name}' belongs to '${federation.orgId}': only its owner may do this.`,
    )
  }

  return {
    get,
    getAsMember,
    getAsOwner,

    async create(
      caller: Caller,
      requested: Pick<StoredFederation, 'name' | 'orgId' | 'description'>,
    ): Promise<ListedFederation> {
      requireOwnOrg(caller, requested.orgId)
      if (isUuid(requested.name)) throw badRequest('name must not look like the id of a federation.')
      const federation: StoredFederation = {
        ...requested,
        id: newId(),
        status: 'active',
        memberCount: 1,
        createdAt: now(),
      }
      await database.transaction(async (tx) => {
        await federationsStore.insert(tx, federation)
        await changed(tx, federation.id)
        auditNote({ kind: 'federation', ...federation, after: requested })
      })
      return { federation, membership: { role: 'owner', status: 'active' } }
    },

    /** With an organization, only federations that it is a member of or invited to; this is the default for a bound key. */
    async list(
      caller: Caller,
      query: { readonly orgId: string | undefined; readonly name: string | undefined },
      page: Page,
    ) {
      const { orgId, name } = query
      if (orgId !== undefined && !sees(caller, orgId)) return { federations: [], total: 0 }
      return federationsStore.list(database.sql, { orgId: orgId ?? caller.orgId, name }, page)
    },

    /** The organizations that are active members. */
    activeOrgs: (db: Executor, federationId: string): Promise<string[]> => membersStore.activeOrgs(db, federationId),
  }
}

const notYetActive = (orgId: string, { id, name }: StoredFederation) =>
  forbidden(
    `'${orgId}' is invited to federation '${name}' but has not joined. Join it first: POST /api/v1/federations/${id}/join.`,
  )

export type FederationsService = ReturnType<typeof createFederationsService>
