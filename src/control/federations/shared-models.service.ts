import type { Caller } from '../../domain/access.ts'
import { notFound } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import { auditNote } from '../audit-note.ts'
import type { ModelsService } from '../catalog/models/models.service.ts'
import type { Context } from '../context.ts'
import type { FederationChanges } from './federation-changes.service.ts'
import type { FederationsService, Page, StoredFederation } from './federations.service.ts'
import { type SharedModel, sharedModelsReport } from './shared-models.report.ts'
import { sharedModelsStore } from './shared-models.store.ts'

export type { SharedModel } from './shared-models.report.ts'

/** The models that all active members of a federation may read. */
export const createSharedModelsService = (
  { database, events, now }: Context,
  {
    models,
    federations,
    changed,
  }: {
    readonly models: Pick<ModelsService, 'find'>
    readonly federations: Pick<FederationsService, 'getAsMember' | 'getAsOwner'>
    readonly changed: FederationChanges
  },
) => {
  // Makes a round's result readable for all active members.
  events.inTransaction('round.completed', async (tx, { federationId, modelId }) => {
    if (federationId !== null) await sharedModelsStore.add(tx, federationId, modelId, now(), true)
  })

  return {
    /** Lets all active members read a model. A bound owner shares its own models; it cannot pass on what others share. */
    async share(caller: Caller, id: string, idOrName: string): Promise<SharedModel> {
      const federation = await federations.getAsOwner(caller, id)
      const { model } = await models.find(caller, idOrName)
      await database.transaction(async (tx) => {
        await sharedModelsStore.add(tx, federation.id, model.id, now())
        auditNote({ kind: 'federation', ...federation, after: { sharedModel: model.id } })
        await changed(tx, federation.id)
      })
      return (await sharedModelsReport.find(database.sql, federation.id, model.id))!
    },

    async unshare(caller: Caller, id: string, modelId: string): Promise<StoredFederation> {
      const federation = await federations.getAsOwner(caller, id)
      await database.transaction(async (tx) => {
        if (!isUuid(modelId) || !(await sharedModelsStore.remove(tx, federation.id, modelId))) {
          throw notFound('Model', modelId, `of federation '${federation.name}'`)
        }
        await changed(tx, federation.id)
        auditNote({ kind: 'federation', ...federation, before: { sharedModel: modelId } })
      })
      return federation
    },

    async list(caller: Caller, id: string, page: Page): Promise<{ models: SharedModel[]; total: number }> {
      const federation = await federations.getAsMember(caller, id)
      return sharedModelsReport.list(database.sql, federation.id, page)
    },
  }
}

export type SharedModelsService = ReturnType<typeof createSharedModelsService>
