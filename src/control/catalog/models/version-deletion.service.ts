import type { Caller } from '../../../domain/access.ts'
import { badRequest, conflict, notFound } from '../../../domain/errors.ts'
import { labelOf } from '../../../domain/model.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { aliasesStore } from './aliases.store.ts'
import type { createModelLookups } from './model-lookups.service.ts'
import { versionsStore } from './versions.store.ts'

/** Deletes versions that nothing uses: see docs/decisions/0208. */
export const createVersionDeletion = (
  { database, events, now }: Context,
  { find, findVersion }: Pick<ReturnType<typeof createModelLookups>, 'find' | 'findVersion'>,
) => ({
  /**
   * Deletes a version with its conversions. Its number and label are not used again. The file is removed once nothing refers
   * to the same bytes.
   * @throws conflict for the model of a round, and while an alias names the version or a plan delivers it
   */
  async deleteVersion(caller: Caller, modelId: string, reference: string): Promise<void> {
    if (reference === 'latest') throw badRequest('version: name the version to delete by its number or label.')
    const named = await findVersion(caller, modelId, reference)
    // Refuses models that are only shared with the caller.
    const { model } = await find(caller, named.model.id)
    const { id, name, orgId, roundId } = model
    if (roundId !== null) throw conflict('The service itself deletes the models of rounds (SERVICE_ROUND_MODELS_KEPT).')
    await database.transaction(async (tx) => {
      await versionsStore.lockNext(tx, id)
      const version = await versionsStore.find(tx, id, named.version.version)
      if (version === null) throw notFound('Version', reference)
      const label = labelOf(version.version, version.ownLabel)
      const aliases = (await aliasesStore.list(tx, id)).filter((one) => one.version === version.version)
      if (aliases.length > 0) {
        const names = aliases.map(({ alias }) => `'${alias}'`).join(', ')
        throw conflict(`Version ${label} has the alias ${names}. Move or delete it first.`)
      }
      await events.publish(tx, 'version.deleted', { modelId: id, orgId, version: version.version })
      await versionsStore.delete(tx, version, now())
      const { version: number, format, fileName, sha256, size } = version
      auditNote({ kind: 'model', id, name, orgId, before: { version: number, label, format, fileName, sha256, size } })
    })
  },
})
