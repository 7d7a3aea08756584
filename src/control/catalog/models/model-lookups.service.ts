import { type Caller, homeOf, sees } from '../../../domain/access.ts'
import { badRequest, forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { type ListedModel, modelsStore, type StoredModel } from './models.store.ts'
import { createVersionReferences, type ResolvedVersion } from './version-references.service.ts'
import { type StoredVersion, versionsStore } from './versions.store.ts'

/** The models that federations let organizations read in addition to their own. */
export interface SharedModels {
  isSharedWith(db: Executor, modelId: string, orgId: string): Promise<boolean>
  /** The same; keeps it so until the transaction ends. */
  keepShared(tx: Executor, modelId: string, orgId: string): Promise<boolean>
  /** Returns the id of a model with this name that is shared with the organization. */
  idByName(db: Executor, name: string, orgId: string): Promise<string | null>
}

/** Finds models and versions: for callers, those they may see; for the service itself, by internal ids. */
export const createModelLookups = (context: Context) => {
  const { database } = context
  let shared: SharedModels | null = null

  /** Returns a model of another organization that a federation shares with the caller's, or null. */
  const sharedTo = async ({ orgId }: Caller, idOrName: string): Promise<ListedModel | null> => {
    if (orgId === null || shared === null) return null
    const id = isUuid(idOrName) ? idOrName : await shared.idByName(database.sql, idOrName, orgId)
    if (id === null || (isUuid(idOrName) && !(await shared.isSharedWith(database.sql, id, orgId)))) return null
    return modelsStore.find(database.sql, id)
  }

  /** By id or name. For an unbound key: the model where it creates things, otherwise the only one. @throws bad_request */
  const findOwn = async (caller: Caller, idOrName: string): Promise<ListedModel | null> => {
    if (isUuid(idOrName)) {
      const found = await modelsStore.find(database.sql, idOrName)
      return found !== null && sees(caller, found.model.orgId) ? found : null
    }
    const home = homeOf(caller)
    const [found, another] = await modelsStore.named(database.sql, idOrName, caller.orgId, home)
    if (found === undefined) return null
    if (another === undefined || found.model.orgId === home) return found
    throw badRequest(
      `Several organizations have a model '${idOrName}'. Use its id, or a key of the intended organization.`,
    )
  }

  /** Finds a model by id or name. @throws not_found if the caller may not see it, forbidden if it may only read it */
  const find = async (caller: Caller, idOrName: string): Promise<ListedModel> => {
    const own = await findOwn(caller, idOrName)
    if (own !== null) return own
    const other = await sharedTo(caller, idOrName)
    if (other === null) throw notFound('Model', idOrName)
    throw forbidden(
      `Model '${idOrName}' belongs to '${other.model.orgId}', which shares it: '${caller.orgId}' can only read and download it. ` +
        'To change or deliver it, upload a copy as a model of your own.',
    )
  }

  /** Like `find`, and also finds models that a federation shares with the caller's organization, which may only be read. */
  const findReadable = async (caller: Caller, idOrName: string): Promise<ListedModel> => {
    const found = (await findOwn(caller, idOrName)) ?? (await sharedTo(caller, idOrName))
    if (found === null) throw notFound('Model', idOrName)
    return found
  }

  const references = createVersionReferences(context)

  /** Returns an uploaded version, even of a shared model. @throws not_found if there is none */
  const findVersion = async (caller: Caller, reference: string, field?: string) => {
    const { model, version, label } = await references.resolve(findReadable, caller, reference, field)
    if (version === null) throw await references.unknown(model, label)
    return { model, version }
  }

  return {
    find,
    findReadable,
    findVersion,

    /** True if a federation shares the model with the organization. */
    isSharedWith: async (modelId: string, orgId: string): Promise<boolean> =>
      shared !== null && (await shared.isSharedWith(database.sql, modelId, orgId)),

    /** The same; keeps it so until the transaction ends. */
    keepShared: async (tx: Executor, modelId: string, orgId: string): Promise<boolean> =>
      shared !== null && (await shared.keepShared(tx, modelId, orgId)),

    /** Resolves a request's reference to an own model and a version, which may not be uploaded yet. */
    resolve: (caller: Caller, reference: string, field?: string): Promise<ResolvedVersion> =>
      references.resolve(find, caller, reference, field),

    /** Lets organizations read the models that are shared with them. */
    readThrough(source: SharedModels): void {
      shared = source
    },

    /** Returns the version that a new round of this organization distributes by default. */
    async latestAggregated(orgId: string | null): Promise<StoredVersion | null> {
      const modelId = await modelsStore.latestAggregated(database.sql, orgId)
      return modelId === null ? null : versionsStore.find(database.sql, modelId, 'latest')
    },

    /** Returns a version of a model by internal ids, by default the highest; for the service itself, without a caller. */
    versionFor: (modelId: string, version: number | 'latest' = 'latest'): Promise<StoredVersion | null> =>
      versionsStore.find(database.sql, modelId, version),

    /** Returns a model and a version by internal ids; for the service itself, without a caller. */
    async originOf(modelId: string, version: number): Promise<{ model: StoredModel; version: StoredVersion } | null> {
      const found = await modelsStore.find(database.sql, modelId)
      const stored = await versionsStore.find(database.sql, modelId, version)
      return found === null || stored === null ? null : { model: found.model, version: stored }
    },

    /** Returns a model by its internal id; for the service itself, without a caller. */
    known: async (id: string, db: Executor = database.sql): Promise<StoredModel | null> =>
      (await modelsStore.find(db, id))?.model ?? null,

    /** Like `known` for many: returns those that exist, by id. */
    knownAll: async (ids: readonly string[]): Promise<ReadonlyMap<string, StoredModel>> =>
      new Map((await modelsStore.findAll(database.sql, ids)).map(({ model }) => [model.id, model])),
  }
}
