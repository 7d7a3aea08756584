import { openFile } from '../../../aggregation/files.ts'
import { type Caller, homeOf } from '../../../domain/access.ts'
import { badRequest, conflict, notFound } from '../../../domain/errors.ts'
import {
  type ConvertedFormat,
  formatOfUpload,
  isUuid,
  labelOf,
  type RecognizedContent,
  requireSemantic,
  type VersionFormat,
} from '../../../domain/model.ts'
import type { Metadata } from '../../../domain/version-metadata.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { detectFormat, formatOf } from '../../../tensors/detect.ts'
import { whyOpaque } from '../../../tensors/read-weights.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { Conversions, StoredConversion } from '../conversions/conversions.service.ts'
import type { FilesService } from '../files/files.service.ts'
import { aliasesStore } from './aliases.store.ts'
import { createModelLookups } from './model-lookups.service.ts'
import { type ListedModel, type ModelFilter, modelsStore, type StoredModel } from './models.store.ts'
import { createVersionDeletion } from './version-deletion.service.ts'
import { createVersionMetadata } from './version-metadata.service.ts'
import { type StoredVersion, versionsStore } from './versions.store.ts'

export type { ListedModel, StoredModel } from './models.store.ts'
export { type ResolvedVersion, UnknownVersion } from './version-references.service.ts'
export type { StoredVersion, VersionOrigin } from './versions.store.ts'

/** A version with its aliases and its conversions. */
export interface NamedVersion extends StoredVersion {
  readonly aliases: readonly string[]
  readonly conversions: readonly StoredConversion[]
}

export interface ModelDetail extends ListedModel {
  readonly versions: readonly NamedVersion[]
}

const byVersion = <Item extends { readonly version: number }>(items: readonly Item[]): ReadonlyMap<number, Item[]> => {
  const lists = new Map<number, Item[]>()
  for (const item of items) {
    const list = lists.get(item.version)
    if (list === undefined) lists.set(item.version, [item])
    else list.push(item)
  }
  return lists
}

/**
 * Recognizes the format of a file by its content; null if unknown. Only small pieces are read here: a pickle of a few megabytes
 * can take seconds to read, so content that may be opaque is read in a thread.
 */
const recognize = async (workers: Context['workers'], path: string): Promise<RecognizedContent | null> => {
  const file = openFile(path, 'r')
  try {
    const format = detectFormat(file)
    if (format === null) return null
    const { title, versions, decides, mayBeOpaque } = formatOf(format)
    const advice = mayBeOpaque ? await workers.whyOpaque(path) : whyOpaque(file, format)
    return { title, versions, decides, readable: advice === null, advice: advice ?? '' }
  } finally {
    file.close()
  }
}

/**
 * The label to store with the model's next version, and a warning if it is not the one that its number implies. No two versions
 * of a model answer to the same label: plans and requests name versions by it (docs/decisions/0163). Locks the model.
 * @throws conflict for a label that an earlier version without a label answers to
 */
const chooseLabel = async (
  tx: Executor,
  modelId: string,
  requested: string | undefined,
): Promise<{ readonly ownLabel: string | null; readonly warnings: readonly string[] }> => {
  const number = await versionsStore.lockNext(tx, modelId)
  if (number === null) throw notFound('Model', modelId)
  const label = requested ?? labelOf(number, null)
  const holder = await versionsStore.findByLabel(tx, modelId, label)
  if (requested !== undefined) {
    if (holder !== null && holder.ownLabel === null)
      throw conflict(
        `Version ${holder.version} of this model was uploaded without a label, and ${label} stands for it. ` +
          'Choose another version_label.',
      )
    if ((await versionsStore.deletedAt(tx, modelId, label)) !== null)
      throw conflict(
        `This model had a version ${label}, which was deleted. Labels are not used again: choose another version_label.`,
      )
    return { ownLabel: requested, warnings: [] }
  }
  const isFree = holder === null && (await versionsStore.deletedAt(tx, modelId, label)) === null
  if (isFree) return { ownLabel: null, warnings: [] }
  const free = await versionsStore.nextMajorLabel(tx, modelId)
  const why = holder === null ? `a deleted version had` : `version ${holder.version} has`
  return {
    ownLabel: free,
    warnings: [`Version ${number} has the label ${free}, because ${why} the label ${label}.`],
  }
}

export const createModelsService = (
  context: Context,
  {
    files,
    conversions,
  }: {
    readonly files: FilesService
    readonly conversions: Conversions
  },
) => {
  const { database, workers, events, now, newId } = context
  const lookups = createModelLookups(context)

  return {
    // Lookups for callers (`find`) and for the service itself (`originOf`) are in model-lookups.service.ts.
    ...lookups,
    ...createVersionMetadata(context, lookups),
    ...createVersionDeletion(context, lookups),

    async create(
      caller: Caller,
      requested: Pick<StoredModel, 'name' | 'framework' | 'frameworkVersion' | 'description' | 'isBaseline'>,
    ): Promise<ListedModel> {
      if (requested.name !== null && isUuid(requested.name)) throw badRequest('name must not look like a model id.')
      const model: StoredModel = {
        ...requested,
        id: newId(),
        orgId: homeOf(caller),
        roundId: null,
        roundName: null,
        accuracy: null,
        loss: null,
        createdAt: now(),
        architectureModelId: null,
      }
      await database.transaction(async (tx) => {
        await modelsStore.insert(tx, model)
        auditNote({ kind: 'model', ...model, after: requested })
        await events.publish(tx, 'model.created', { modelId: model.id, orgId: model.orgId })
      })
      return { model, newest: null }
    },

    list: (caller: Caller, filter: Omit<ModelFilter, 'orgId'>, page: { limit: number; offset: number }) =>
      modelsStore.list(database.sql, { ...filter, orgId: caller.orgId }, page),

    async detail(caller: Caller, idOrName: string): Promise<ModelDetail> {
      const found = await lookups.findReadable(caller, idOrName)
      const [listed, named, converted] = await Promise.all([
        versionsStore.ofModel(database.sql, found.model.id),
        aliasesStore.list(database.sql, found.model.id),
        conversions.ofModel(found.model.id),
      ])
      const [aliases, conversionsOf] = [byVersion(named), byVersion(converted)]
      const detailOf = (version: StoredVersion): NamedVersion => ({
        ...version,
        aliases: (aliases.get(version.version) ?? []).map(({ alias }) => alias),
        conversions: conversionsOf.get(version.version) ?? [],
      })
      return { ...found, versions: listed.map(detailOf) }
    },

    /** Replaces the model's description. */
    async describe(caller: Caller, idOrName: string, description: string): Promise<ListedModel> {
      const { id: modelId, name, orgId } = (await lookups.find(caller, idOrName)).model
      return database.transaction(async (tx) => {
        const found = (await versionsStore.lockNext(tx, modelId)) === null ? null : await modelsStore.find(tx, modelId)
        if (found === null) throw notFound('Model', idOrName)
        const [before, after] = [{ description: found.model.description }, { description }]
        if (description !== before.description) {
          await modelsStore.describe(tx, modelId, description)
          await events.publish(tx, 'model.changed', { modelId, orgId })
        }
        auditNote({ kind: 'model', id: modelId, name, orgId, before, after, onlyIfChanged: true })
        return { ...found, model: { ...found.model, description } }
      })
    },

    count: (caller: Caller): Promise<number> => modelsStore.count(database.sql, caller.orgId),

    /** Adds a staged file to the model as its next version. */
    async addVersion(
      model: StoredModel,
      staged: StagedBlob & { readonly fileName: string },
      requested: {
        format: VersionFormat | undefined
        description: string
        versionLabel: string | undefined
        metadata?: Metadata
        /** The formats to convert it to. */
        formats?: readonly ConvertedFormat[]
      },
    ): Promise<StoredVersion> {
      if (staged.size === 0) throw badRequest('file is empty: a version needs weights.')
      if (requested.versionLabel !== undefined) requireSemantic(requested.versionLabel)
      const content = await recognize(workers, staged.path)
      const { format, warnings } = formatOfUpload({
        named: requested.format,
        content,
        fileName: staged.fileName,
        framework: model.framework,
      })
      await files.keep(staged)
      return database.transaction(async (tx) => {
        const chosen = await chooseLabel(tx, model.id, requested.versionLabel)
        const version = await versionsStore.insert(tx, {
          modelId: model.id,
          format,
          warnings: [...warnings, ...chosen.warnings],
          ownLabel: chosen.ownLabel,
          fileName: staged.fileName,
          sha256: staged.sha256,
          size: staged.size,
          metadata: requested.metadata ?? {},
          description: requested.description,
          uploadedAt: now(),
          origin: null,
        })
        await conversions.versionAdded(tx, version, requested.formats)
        await events.publish(tx, 'version.added', {
          modelId: model.id,
          orgId: model.orgId,
          version: version.version,
        })
        const { modelId: _, warnings: __, origin: ___, uploadedAt: ____, ...after } = version
        auditNote({ kind: 'model', id: model.id, name: model.name, orgId: model.orgId, after })
        return version
      })
    },
  }
}

export type ModelsService = ReturnType<typeof createModelsService>
