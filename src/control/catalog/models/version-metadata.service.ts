import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../../domain/access.ts'
import { notFound } from '../../../domain/errors.ts'
import { changeMetadata, type Metadata, type MetadataChanges } from '../../../domain/version-metadata.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { createModelLookups } from './model-lookups.service.ts'
import { type StoredVersion, versionsStore } from './versions.store.ts'

/** Audit entries cut long values: they show only the entries that change. */
const ofChanges = (metadata: Metadata, changes: MetadataChanges): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => Object.hasOwn(changes, key)))

/** What uploaders recorded with versions. Unlike the file, it can be changed later. */
export const createVersionMetadata = (
  { database, events }: Context,
  { find, findVersion }: Pick<ReturnType<typeof createModelLookups>, 'find' | 'findVersion'>,
) => ({
  /** Merges changes into the metadata of a version; concurrent ones of other keys are kept. */
  async changeMetadata(
    caller: Caller,
    modelId: string,
    reference: string,
    changes: MetadataChanges,
  ): Promise<StoredVersion> {
    const named = await findVersion(caller, modelId, reference)
    // Refuses models that are only shared with the caller.
    const { model } = await find(caller, named.model.id)
    const { id, name, orgId } = model
    return database.transaction(async (tx) => {
      await versionsStore.lockNext(tx, id)
      const version = await versionsStore.find(tx, id, named.version.version)
      if (version === null) throw notFound('Version', reference)
      const metadata = changeMetadata(version.metadata, changes)
      const isChanged = !isDeepStrictEqual(metadata, version.metadata)
      if (isChanged) {
        await versionsStore.setMetadata(tx, { ...version, metadata })
        await events.publish(tx, 'version.changed', { modelId: id, orgId, version: version.version })
      }
      const field = `version ${version.version} metadata`
      auditNote({
        kind: 'model',
        id,
        name,
        orgId,
        before: { [field]: ofChanges(version.metadata, changes) },
        after: { [field]: ofChanges(metadata, changes) },
        onlyIfChanged: true,
      })
      return { ...version, metadata }
    })
  },
})
