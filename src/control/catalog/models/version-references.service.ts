import type { Caller } from '../../../domain/access.ts'
import { isNotFound, notFound, ServiceError } from '../../../domain/errors.ts'
import { labelOf } from '../../../domain/model.ts'
import { isAlias, splitReference, versionMeant } from '../../../domain/model-reference.ts'
import type { Context } from '../../context.ts'
import { aliasesStore } from './aliases.store.ts'
import type { ListedModel, StoredModel } from './models.store.ts'
import { type StoredVersion, versionsStore } from './versions.store.ts'

/** The model and version that a request names. */
export interface ResolvedVersion {
  readonly model: StoredModel
  /** Null until it is uploaded. */
  readonly version: StoredVersion | null
  /** The text to store: the label that `latest` or an alias names now, because these may move; else the requested text. */
  readonly label: string
}

/** The model exists, but has no such version or alias. */
export class UnknownVersion extends ServiceError {
  constructor(message: string) {
    super('not_found', message)
    this.name = 'UnknownVersion'
  }
}

export type FindModel = (caller: Caller, idOrName: string) => Promise<ListedModel>

/** Resolves numbers, semantic versions, `latest`, and aliases, given separately or after a name (`my-model@production`). */
export const createVersionReferences = ({ database }: Context) => {
  /** Finds the model with this whole name, including `@`; otherwise the one with the name before the `@`. */
  const locate = async (find: FindModel, caller: Caller, reference: string) => {
    const split = splitReference(reference)
    if (split === null) return { model: (await find(caller, reference)).model, named: undefined }
    try {
      return { model: (await find(caller, reference)).model, named: undefined }
    } catch (error) {
      if (!isNotFound(error)) throw error
      return { model: (await find(caller, split.name)).model, named: split.version }
    }
  }

  /** Returns the error for a missing version, which lists the model's aliases. */
  const unknown = async (model: StoredModel, text: string): Promise<UnknownVersion> => {
    const ofModel = `of model '${model.name ?? model.id}'`
    const deletedAt = await versionsStore.deletedAt(database.sql, model.id, text)
    if (deletedAt !== null)
      return new UnknownVersion(`Version '${text}' ${ofModel} was deleted on ${deletedAt.toISOString().slice(0, 10)}.`)
    if (text === 'latest') return new UnknownVersion(`Model '${model.name ?? model.id}' has no versions.`)
    const { message } = notFound('Version', text, ofModel)
    const known = (await aliasesStore.list(database.sql, model.id)).map(({ alias }) => alias)
    return new UnknownVersion(known.length === 0 ? message : `${message} Its aliases: ${known.join(', ')}.`)
  }

  /** @throws not_found for an alias that the model does not have */
  const versionOf = async (model: StoredModel, text: string): Promise<StoredVersion | null> => {
    if (/^[1-9]\d{0,8}$/.test(text)) return versionsStore.find(database.sql, model.id, Number(text))
    if (text === 'latest') return versionsStore.find(database.sql, model.id, 'latest')
    if (!isAlias(text)) return versionsStore.findByLabel(database.sql, model.id, text)
    const version = await aliasesStore.find(database.sql, model.id, text)
    if (version === null) throw await unknown(model, text)
    return versionsStore.find(database.sql, model.id, version)
  }

  return {
    unknown,

    /**
     * Resolves a version when a request names it. `find` decides which models it may name.
     * @throws not_found for the model, an alias, and a deleted version; bad_request if reference and version contradict each other
     */
    async resolve(find: FindModel, caller: Caller, reference: string, field?: string): Promise<ResolvedVersion> {
      const { model, named } = await locate(find, caller, reference)
      const text = versionMeant(reference, named, field)
      const version = await versionOf(model, text)
      // It will not be uploaded again.
      if (version === null && (await versionsStore.deletedAt(database.sql, model.id, text)) !== null)
        throw await unknown(model, text)
      const moves = text === 'latest' || isAlias(text)
      return { model, version, label: moves && version !== null ? labelOf(version.version, version.ownLabel) : text }
    },
  }
}
