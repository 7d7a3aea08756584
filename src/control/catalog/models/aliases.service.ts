import type { Caller } from '../../../domain/access.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { requireAlias } from '../../../domain/model-reference.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { AliasesReport, ShownAlias } from './aliases.report.ts'
import type { AliasesStore } from './aliases.store.ts'
import type { ModelsService, StoredModel } from './models.service.ts'

export type { Mover, ShownAlias, ShownMove } from './aliases.report.ts'

/** What whoever moves an alias takes it to name: a version, nothing (null), or whatever it is (undefined). */
export type Expected = string | null | undefined

/** Names of versions that move, `production` and `candidate` for example. None is made unasked. */
export const createAliasesService = (parts: {
  readonly database: Database
  readonly store: AliasesStore
  readonly report: AliasesReport
  readonly models: Pick<ModelsService, 'find' | 'detail' | 'findVersion'>
  readonly now: () => Date
}) => {
  const { database, store, report, models, now } = parts

  /** In one transaction: what is expected is true when it is moved. */
  const move = async (
    caller: Caller,
    { id: modelId, name, orgId }: StoredModel,
    change: { readonly alias: string; readonly to: number | null; readonly expected: Expected },
  ): Promise<{ readonly existed: boolean }> => {
    const { alias, to, expected } = change
    const requested =
      expected === undefined || expected === null
        ? expected
        : (await models.findVersion(caller, modelId, expected)).version.version
    return database.transaction(async (tx) => {
      await store.lock(tx, modelId)
      const from = await store.find(tx, modelId, alias)
      if (requested !== undefined && requested !== from) {
        throw conflict(
          `The alias '${alias}' ${from === null ? 'does not exist' : `names version ${from}`}, not ` +
            `${requested === null ? 'none' : `version ${requested}`} as expected. Look again, and decide anew.`,
        )
      }
      if (from !== to) await store.move(tx, { modelId, alias, from, to, movedAt: now(), movedBy: caller.keyId })
      auditNote({
        kind: 'model',
        id: modelId,
        name,
        orgId,
        before: { [`alias ${alias}`]: from },
        after: { [`alias ${alias}`]: to },
      })
      return { existed: from !== null }
    })
  }

  const list = async (caller: Caller, modelIdOrName: string): Promise<ShownAlias[]> =>
    report.list(database.sql, (await models.detail(caller, modelIdOrName)).model.id)

  return {
    list,

    /** Makes the alias name this version; the same twice is one move. @throws conflict when it names another than expected */
    async set(
      caller: Caller,
      modelIdOrName: string,
      requested: { readonly alias: string; readonly version: string; readonly expected: Expected },
    ): Promise<ShownAlias> {
      const { alias, expected } = requested
      const { model } = await models.find(caller, modelIdOrName)
      requireAlias(alias)
      const { version } = await models.findVersion(caller, model.id, requested.version)
      await move(caller, model, { alias, to: version.version, expected })
      const shown = (await report.list(database.sql, model.id)).find((one) => one.alias === alias)
      if (shown === undefined) throw conflict(`The alias '${alias}' was deleted at this moment.`)
      return shown
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
      const { model } = await models.detail(caller, modelIdOrName)
      return report.history(database.sql, model.id, alias, page)
    },
  }
}

export type AliasesService = ReturnType<typeof createAliasesService>
