import { type Caller, sees } from '../../domain/access.ts'
import { badRequest, conflict, forbidden, notFound } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import type { Database, Executor } from '../../platform/db/open.ts'
import type { ModelsService } from '../catalog/models/models.service.ts'
import type { FederationsStore, ListedFederation, StoredFederation } from './federations.store.ts'
import type { Member, MembersStore } from './members.store.ts'
import type { SharedModel, SharedModelsReport } from './shared-models.report.ts'
import type { SharedModelsStore } from './shared-models.store.ts'

export type { ListedFederation, Membership, StoredFederation } from './federations.store.ts'
export type { Member } from './members.store.ts'
export type { SharedModel } from './shared-models.report.ts'

interface Page {
  readonly limit: number
  readonly offset: number
}

/** Federations: organizations that train together, share models and have a privacy budget in common. */
export const createFederationsService = (parts: {
  readonly database: Database
  readonly store: FederationsStore
  readonly members: MembersStore
  readonly sharedModels: SharedModelsStore
  readonly sharedModelsReport: SharedModelsReport
  readonly models: Pick<ModelsService, 'find'>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, members, sharedModels, sharedModelsReport, models, now, newId } = parts

  /** not_found when there is none that the caller may see: a bound key sees those it is a member of or invited to. */
  const get = async (caller: Caller, id: string): Promise<ListedFederation> => {
    const found = isUuid(id) ? await store.find(database.sql, id, caller.orgId) : null
    if (found === null || (caller.orgId !== null && found.membership === null)) throw notFound('Federation', id)
    return found
  }

  /** As `get`, for what only active members may see. */
  const getAsMember = async (caller: Caller, id: string): Promise<StoredFederation> => {
    const { federation, membership } = await get(caller, id)
    if (caller.orgId !== null && membership?.status !== 'active') throw notYetActive(caller.orgId, federation)
    return federation
  }

  /** What only the owner may do. Not owning it is forbidden to whoever knows the id; a stranger learns nothing more. */
  const getAsOwner = async (caller: Caller, id: string): Promise<StoredFederation> => {
    const found = isUuid(id) ? await store.find(database.sql, id, caller.orgId) : null
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
      wanted: Pick<StoredFederation, 'name' | 'orgId' | 'description'>,
    ): Promise<ListedFederation> {
      if (!sees(caller, wanted.orgId)) throw boundElsewhere(wanted.orgId)
      if (isUuid(wanted.name)) throw badRequest('name must not look like the id of a federation.')
      const federation: StoredFederation = {
        ...wanted,
        id: newId(),
        status: 'active',
        memberCount: 1,
        createdAt: now(),
      }
      await database.transaction((tx) => store.insert(tx, federation))
      return { federation, membership: { role: 'owner', status: 'active' } }
    },

    /** With an organization: those it is a member of or invited to. A bound key asks for its own. */
    async list(
      caller: Caller,
      query: { readonly orgId: string | undefined; readonly name: string | undefined },
      page: Page,
    ) {
      const { orgId, name } = query
      if (orgId !== undefined && !sees(caller, orgId)) return { federations: [], total: 0 }
      return store.list(database.sql, { orgId: orgId ?? caller.orgId, name }, page)
    },

    /** Who is a member or invited already is left as it is. */
    async invite(caller: Caller, id: string, orgIds: readonly string[]) {
      const federation = await getAsOwner(caller, id)
      const wanted = [...new Set(orgIds)]
      const added = await members.invite(database.sql, federation.id, wanted, now())
      return {
        federation,
        invited: wanted.filter((orgId) => added.has(orgId)),
        skipped: wanted.filter((orgId) => !added.has(orgId)),
      }
    },

    /** Takes up an invitation. Nobody invited whom an unbound key lets in; joining twice changes nothing. */
    async join(caller: Caller, id: string, orgId: string): Promise<ListedFederation> {
      await get(caller, id)
      if (!sees(caller, orgId)) throw boundElsewhere(orgId)
      const joined = await members.join(database.sql, id, orgId, { uninvited: caller.orgId === null, at: now() })
      if (!joined) throw notFound('Federation', id)
      return (await store.find(database.sql, id, orgId))!
    },

    /** By the owner any other member, by a member itself; an invitation is withdrawn or declined the same way. */
    async removeMember(caller: Caller, id: string, orgId: string): Promise<StoredFederation> {
      const { federation } = await get(caller, id)
      if (!sees(caller, federation.orgId) && !sees(caller, orgId)) {
        throw forbidden(`Only '${orgId}' itself and the owner, '${federation.orgId}', may end this membership.`)
      }
      if (orgId === federation.orgId) throw conflict(`'${orgId}' owns the federation and cannot leave it.`)
      if (!(await members.remove(database.sql, id, orgId))) {
        throw notFound('Member', orgId, `of federation '${federation.name}'`)
      }
      return federation
    },

    async members(caller: Caller, id: string, page: Page): Promise<{ members: Member[]; total: number }> {
      const federation = await getAsMember(caller, id)
      return members.list(database.sql, federation.id, page)
    },

    /** Lets all active members read a model. A bound owner shares what is its own; it cannot pass on what others share. */
    async share(caller: Caller, id: string, idOrName: string): Promise<SharedModel> {
      const federation = await getAsOwner(caller, id)
      const { model } = await models.find(caller, idOrName)
      await sharedModels.add(database.sql, federation.id, model.id, now())
      return (await sharedModelsReport.find(database.sql, federation.id, model.id))!
    },

    async unshare(caller: Caller, id: string, modelId: string): Promise<StoredFederation> {
      const federation = await getAsOwner(caller, id)
      if (!isUuid(modelId) || !(await sharedModels.remove(database.sql, federation.id, modelId))) {
        throw notFound('Model', modelId, `of federation '${federation.name}'`)
      }
      return federation
    },

    async sharedModels(caller: Caller, id: string, page: Page): Promise<{ models: SharedModel[]; total: number }> {
      const federation = await getAsMember(caller, id)
      return sharedModelsReport.list(database.sql, federation.id, page)
    },

    // What follows is the service's own, without a caller: for rounds and jobs.

    /** A round's result becomes readable to all active members, in the transaction that publishes it. */
    shareResult: (tx: Executor, federationId: string, modelId: string): Promise<void> =>
      sharedModels.add(tx, federationId, modelId, now()),

    /** Throws where the organization may not start rounds in the federation: not_found, or forbidden while invited. */
    async requireActiveMember(db: Executor, federationId: string, orgId: string): Promise<StoredFederation> {
      const found = isUuid(federationId) ? await store.find(db, federationId, orgId) : null
      if (found === null || found.membership === null) throw notFound('Federation', federationId)
      if (found.membership.status !== 'active') throw notYetActive(orgId, found.federation)
      return found.federation
    },

    isActiveMember: async (db: Executor, federationId: string, orgId: string): Promise<boolean> =>
      (await members.membership(db, federationId, orgId))?.status === 'active',

    /** The organizations whose devices take part. */
    activeOrgs: (db: Executor, federationId: string): Promise<string[]> => members.activeOrgs(db, federationId),
  }
}

const boundElsewhere = (orgId: string) => forbidden(`This key is bound to another organization than '${orgId}'.`)

const notYetActive = (orgId: string, { id, name }: StoredFederation) =>
  forbidden(
    `'${orgId}' is invited to federation '${name}' but has not joined. Join it first: POST /api/v1/federations/${id}/join.`,
  )

export type FederationsService = ReturnType<typeof createFederationsService>
