import { type Caller, homeOf, sees } from '../../../domain/access.ts'
import { badRequest, notFound, ServiceError } from '../../../domain/errors.ts'
import {
  type DownloadFormat,
  type Framework,
  formatOfUpload,
  isUuid,
  type RecognizedContent,
  requireSemantic,
  type VersionFormat,
} from '../../../domain/model.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus } from '../../events.ts'
import type { FilesService } from '../files/files.service.ts'
import type { ListedModel, ModelsStore, StoredModel, StoredVersion } from './models.store.ts'

export type { ListedModel, StoredModel, StoredVersion } from './models.store.ts'

/** What a finished round adds to the catalog. */
export interface Aggregate {
  readonly roundId: string
  readonly orgId: string | null
  readonly framework: Framework
  readonly frameworkVersion: string
  readonly format: VersionFormat
  readonly accuracy: number | null
  readonly loss: number | null
  readonly description: string
  readonly file: { readonly sha256: string; readonly size: number; readonly fileName: string }
}

/** What federations let organizations read besides their own. */
export interface SharedModels {
  isSharedWith(db: Executor, modelId: string, orgId: string): Promise<boolean>
  /** The id of a model of that name which is shared with the organization. */
  idByName(db: Executor, name: string, orgId: string): Promise<string | null>
}

export const createModelsService = (parts: {
  readonly database: Database
  readonly store: ModelsStore
  readonly files: FilesService
  readonly events: Pick<ControlEventBus, 'publish'>
  /** Tells what the bytes are, by looking at them; null when they are nothing we know. */
  readonly recognize: (path: string) => Promise<RecognizedContent | null>
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, files, events, recognize, now, newId } = parts
  let shared: SharedModels | null = null

  /** The model with this id or name; not_found when there is none that the caller may see. */
  const find = async (caller: Caller, idOrName: string): Promise<ListedModel> => {
    const wanted = isUuid(idOrName) ? { id: idOrName } : { name: idOrName, orgId: caller.orgId }
    const found = await store.find(database.sql, wanted)
    if (found === null || !sees(caller, found.model.orgId)) throw notFound('Model', idOrName)
    return found
  }

  /** As `find`, and a model that a federation shares with the caller's organization. Such a model may only be read. */
  const findReadable = async (caller: Caller, idOrName: string): Promise<ListedModel> => {
    const { orgId } = caller
    if (orgId === null) return find(caller, idOrName)
    const own = await store.find(database.sql, isUuid(idOrName) ? { id: idOrName } : { name: idOrName, orgId })
    if (own !== null && sees(caller, own.model.orgId)) return own
    const sharedId = isUuid(idOrName)
      ? own !== null && (await shared?.isSharedWith(database.sql, own.model.id, orgId)) === true && own.model.id
      : await shared?.idByName(database.sql, idOrName, orgId)
    const found = sharedId ? await store.find(database.sql, { id: sharedId }) : null
    if (found === null) throw notFound('Model', idOrName)
    return found
  }

  const findVersion = async (caller: Caller, idOrName: string, text: string) => {
    const { model } = await findReadable(caller, idOrName)
    const version = /^[1-9]\d{0,8}$/.test(text)
      ? await store.findVersion(database.sql, model.id, Number(text))
      : text === 'latest'
        ? await store.findVersion(database.sql, model.id, 'latest')
        : await store.findVersionByLabel(database.sql, model.id, text)
    if (version === null) throw notFound('Version', text, `of model '${idOrName}'`)
    return { model, version }
  }

  return {
    find,
    findVersion,

    /** Models that are shared this way may be read by others than their owners. */
    readThrough(source: SharedModels): void {
      shared = source
    },

    async create(
      caller: Caller,
      wanted: Pick<StoredModel, 'name' | 'framework' | 'frameworkVersion' | 'description' | 'isBaseline'>,
    ): Promise<ListedModel> {
      if (wanted.name !== null && isUuid(wanted.name)) throw badRequest('name must not look like a model id.')
      const model: StoredModel = {
        ...wanted,
        id: newId(),
        orgId: homeOf(caller),
        roundId: null,
        accuracy: null,
        loss: null,
        createdAt: now(),
      }
      await store.insert(database.sql, model)
      return { model, newest: null }
    },

    list: (
      caller: Caller,
      filter: { framework: Framework | undefined; isBaseline: boolean | undefined },
      page: { limit: number; offset: number },
    ) => store.list(database.sql, { ...filter, orgId: caller.orgId }, page),

    async detail(caller: Caller, idOrName: string): Promise<ListedModel & { versions: StoredVersion[] }> {
      const found = await findReadable(caller, idOrName)
      return { ...found, versions: await store.versions(database.sql, found.model.id) }
    },

    count: (caller: Caller): Promise<number> => store.count(database.sql, caller.orgId),

    /** Adds a staged file to the model as its next version. */
    async addVersion(
      model: StoredModel,
      staged: StagedBlob & { readonly fileName: string },
      wanted: { format: VersionFormat | undefined; description: string; versionLabel: string | undefined },
    ): Promise<StoredVersion> {
      if (staged.size === 0) throw badRequest('file is empty: a version needs weights.')
      if (wanted.versionLabel !== undefined) requireSemantic(wanted.versionLabel)
      const content = await recognize(staged.path)
      const { format, warnings } = formatOfUpload({
        named: wanted.format,
        content,
        fileName: staged.fileName,
        framework: model.framework,
      })
      await files.keep(staged)
      return database.transaction(async (tx) => {
        const version = await store.insertVersion(tx, {
          modelId: model.id,
          format,
          warnings,
          ownLabel: wanted.versionLabel ?? null,
          fileName: staged.fileName,
          sha256: staged.sha256,
          size: staged.size,
          description: wanted.description,
          uploadedAt: now(),
        })
        await events.publish(tx, 'version.added', { modelId: model.id })
        return version
      })
    },

    /** A version's file in the format asked for; not_found where it was never converted to it. */
    async fileOf(caller: Caller, idOrName: string, version: string, format: DownloadFormat | undefined) {
      const found = await findVersion(caller, idOrName, version)
      if (format !== undefined && format !== found.version.format) {
        throw new ServiceError(
          'not_found',
          `Version ${version} of model '${idOrName}' was uploaded as ${found.version.format} and has not been converted to ` +
            `${format}. Leave format out, or ask for ${found.version.format}.`,
        )
      }
      return found
    },

    /** The version that a new round of this organization distributes unless it names another. */
    async latestAggregated(orgId: string | null): Promise<StoredVersion | null> {
      const modelId = await store.latestAggregated(database.sql, orgId)
      return modelId === null ? null : store.findVersion(database.sql, modelId, 'latest')
    },

    /** The highest version of a model; null before the first upload. */
    newestVersion: (modelId: string): Promise<StoredVersion | null> =>
      store.findVersion(database.sql, modelId, 'latest'),

    /** A model and a version that are known by their internal ids; the service's own look-up, without a caller. */
    async originOf(modelId: string, version: number): Promise<{ model: StoredModel; version: StoredVersion } | null> {
      const found = await store.find(database.sql, { id: modelId })
      const stored = await store.findVersion(database.sql, modelId, version)
      return found === null || stored === null ? null : { model: found.model, version: stored }
    },

    /** A model by its internal id; the service's own look-up, without a caller. */
    known: async (id: string, db: Executor = database.sql): Promise<StoredModel | null> =>
      (await store.find(db, { id }))?.model ?? null,

    /** Adds the file of another model's version as this model's next one. */
    addCopy: (tx: Executor, modelId: string, { version: _, ...from }: StoredVersion, description: string) =>
      store.insertVersion(tx, { ...from, modelId, ownLabel: null, warnings: [], description, uploadedAt: now() }),

    /** Adds a round's result as a new model with version 1, inside the transaction that completes the round. */
    async addAggregate(tx: Executor, aggregate: Aggregate): Promise<StoredModel> {
      const { file, format, ...rest } = aggregate
      const model: StoredModel = { ...rest, id: newId(), name: null, isBaseline: false, createdAt: now() }
      await store.insert(tx, model)
      await store.insertVersion(tx, {
        modelId: model.id,
        format,
        ownLabel: null,
        warnings: [],
        description: aggregate.description,
        uploadedAt: model.createdAt,
        ...file,
      })
      return model
    },
  }
}

export type ModelsService = ReturnType<typeof createModelsService>
