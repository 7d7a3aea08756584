import { actorOf, type Caller, isDeviceKey, sees } from '../../../domain/access.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { requireAlias } from '../../../domain/model-reference.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approvals, ApprovalView } from '../../access/approvals/approvals.service.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { type AliasView, aliasesReport, type Mover } from './aliases.report.ts'
import { aliasesStore } from './aliases.store.ts'
import type { ModelsService, StoredModel } from './models.service.ts'
import { versionsStore } from './versions.store.ts'

export type { AliasView, Mover, MoveView } from './aliases.report.ts'

const { named } = aliasesReport

/** What the caller expects the alias to name now: a version, none (null), or anything (undefined). */
export type Expected = string | null | undefined

/** A move that waits for an approval: the version that the alias named at the request, and the requested one. */
interface WaitingMove {
  readonly modelId: string
  readonly alias: string
  readonly from: number | null
  readonly to: number
}

/** Movable names of versions, such as `production` and `candidate`. None exists by default. */
export const createAliasesService = (
  { database, events, now }: Context,
  {
    models,
    approvals,
  }: {
    readonly models: Pick<ModelsService, 'find' | 'findReadable' | 'findVersion'>
    readonly approvals: Approvals
  },
) => {
  /** Call it in a transaction, on a locked model. */
  const set = async (
    tx: Executor,
    caller: Caller,
    { id: modelId, name, orgId }: StoredModel,
    { alias, from, to }: { readonly alias: string; readonly from: number | null; readonly to: number | null },
  ): Promise<void> => {
    if (from !== to) {
      if (to !== null && (await versionsStore.find(tx, modelId, to)) === null)
        throw conflict('The version was deleted in the meantime.')
      await aliasesStore.move(tx, { modelId, alias, from, to, movedAt: now(), movedBy: actorOf(caller) })
      await events.publish(tx, 'alias.moved', { modelId, orgId, alias, version: to })
    }
    auditNote({
      kind: 'model',
      id: modelId,
      name,
      orgId,
      before: { [`alias ${alias}`]: from },
      after: { [`alias ${alias}`]: to },
      onlyIfChanged: true,
    })
  }

  approvals.handle<WaitingMove>('alias_move', {
    async carryOut(requester, { modelId, alias, from, to }, settle) {
      const { model } = await models.find(requester, modelId)
      await database.transaction(async (tx) => {
        await settle(tx)
        await aliasesStore.lock(tx, modelId)
        const current = await aliasesStore.find(tx, modelId, alias)
        if (current !== from) {
          const [now, then] = [await named(tx, modelId, current), await named(tx, modelId, from)]
          throw conflict(`The alias '${alias}' now names ${now}, not ${then} as when this was requested.`)
        }
        await set(tx, requester, model, { alias, from, to })
      })
    },
  })

  /** Compares with the expectation and moves in one transaction. */
  const move = async (
    caller: Caller,
    model: StoredModel,
    change: { readonly alias: string; readonly to: number | null; readonly expected: Expected },
  ): Promise<{ readonly existed: boolean; readonly approvalId: string | null }> => {
    const { id: modelId, orgId } = model
    const { alias, to, expected } = change
    const requested =
      expected === undefined || expected === null
        ? expected
        : (await models.findVersion(caller, modelId, expected)).version.version
    return database.transaction(async (tx) => {
      await aliasesStore.lock(tx, modelId)
      const from = await aliasesStore.find(tx, modelId, alias)
      if (requested !== undefined && requested !== from) {
        throw conflict(
          `The alias '${alias}' ${from === null ? 'does not exist' : `names ${await named(tx, modelId, from)}`}, not ` +
            `${await named(tx, modelId, requested)} as expected. Check it and try again.`,
        )
      }
      if (to !== null && from !== to && (await approvals.isNeeded(orgId, tx))) {
        const payload: WaitingMove = { modelId, alias, from, to }
        const [before, after] = [await named(tx, modelId, from), await named(tx, modelId, to)]
        const title = `Move the alias '${alias}' of '${model.name ?? modelId}' from ${before} to ${after}`
        const wanted = { orgId: orgId!, kind: 'alias_move', subject: `${modelId}/${alias}`, title } as const
        const { id } = await approvals.request(tx, caller, { ...wanted, payload: { ...payload } })
        return { existed: from !== null, approvalId: id }
      }
      await set(tx, caller, model, { alias, from, to })
      return { existed: from !== null, approvalId: null }
    })
  }

  return {
    async list(caller: Caller, modelIdOrName: string): Promise<AliasView[]> {
      const { model } = await models.findReadable(caller, modelIdOrName)
      return (await aliasesReport.list(database.sql, model.id)).map(withMoverFor(caller, model))
    },

    /**
     * Makes the alias name this version, or requests an approval and returns it. Repeating it changes nothing.
     * @throws conflict if the alias names another version than expected
     */
    async set(
      caller: Caller,
      modelIdOrName: string,
      requested: { readonly alias: string; readonly version: string; readonly expected: Expected },
    ): Promise<{ readonly shown: AliasView } | { readonly approval: ApprovalView }> {
      const { alias, expected } = requested
      const { model } = await models.find(caller, modelIdOrName)
      requireAlias(alias)
      const { version } = await models.findVersion(caller, model.id, requested.version)
      const { approvalId } = await move(caller, model, { alias, to: version.version, expected })
      if (approvalId !== null) return { approval: await approvals.get(caller, approvalId) }
      const [shown] = await aliasesReport.list(database.sql, model.id, alias)
      if (shown === undefined) throw conflict(`The alias '${alias}' was deleted in the meantime.`)
      return { shown: withMoverFor(caller, model)(shown) }
    },

    async delete(caller: Caller, modelIdOrName: string, alias: string, expected: Expected): Promise<void> {
      const { model } = await models.find(caller, modelIdOrName)
      const { existed } = await move(caller, model, { alias, to: null, expected })
      if (!existed) throw notFound('Alias', alias, `of model '${modelIdOrName}'`)
    },

    async history(
      caller: Caller,
      modelIdOrName: string,
      alias: string | undefined,
      page: { limit: number; offset: number },
    ) {
      const { model } = await models.findReadable(caller, modelIdOrName)
      const { moves, total } = await aliasesReport.history(database.sql, model.id, alias, page)
      return { moves: moves.map(withMoverFor(caller, model)), total }
    },
  }
}

/** Other organizations, which read a shared model, and devices do not learn who moved an alias. */
const withMoverFor =
  (caller: Caller, { orgId }: Pick<StoredModel, 'orgId'>) =>
  <Moved extends Mover>(moved: Moved): Moved =>
    sees(caller, orgId) && !isDeviceKey(caller) ? moved : { ...moved, movedBy: null, movedByName: null }

export type AliasesService = ReturnType<typeof createAliasesService>
