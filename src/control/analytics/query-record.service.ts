import type { Caller } from '../../domain/access.ts'
import { notFound, ServiceError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/model.ts'
import type { Context } from '../context.ts'
import type { FederationsService } from '../federations/federations.service.ts'
import type { Federations } from '../federations/module.ts'
import { queriesStore, type StoredQuery } from './queries.store.ts'
import type { QueryType } from './query-type.ts'

export type Body = Readonly<Record<string, unknown>>

export interface QueryParts {
  readonly federations: Pick<FederationsService, 'getAsMember' | 'activeOrgs'>
  /** Notifies those who see the federation, inside the transaction. */
  readonly changed: Federations['changed']
}

/** Records a federation's queries, each with its request and its result or the reason for its failure. */
export const createQueryRecord = ({ database, now, newId }: Context, { federations, changed }: QueryParts) => {
  const insert = (query: StoredQuery): Promise<void> =>
    database.transaction(async (tx) => {
      await queriesStore.insert(tx, query)
      await changed(tx, query.federationId)
    })

  return {
    /** Runs a query and records it, even if it fails. */
    async run(
      caller: Caller,
      federationId: string,
      analysis: { readonly queryType: QueryType; readonly variable: string; readonly request: Body },
      work: (orgIds: readonly string[]) => Promise<Body>,
    ): Promise<StoredQuery> {
      const federation = await federations.getAsMember(caller, federationId)
      const base = { ...analysis, id: newId(), federationId: federation.id, orgId: caller.orgId, createdAt: now() }
      try {
        const result = await work(await federations.activeOrgs(database.sql, federation.id))
        const query: StoredQuery = { ...base, status: 'completed', result, reason: null }
        await insert(query)
        return query
      } catch (error) {
        const reason = error instanceof ServiceError ? error.message : 'An unexpected error in the service.'
        await insert({ ...base, status: 'failed', result: null, reason })
        throw error
      }
    },

    async list(caller: Caller, federationId: string, page: { limit: number; offset: number }) {
      const federation = await federations.getAsMember(caller, federationId)
      return queriesStore.list(database.sql, federation.id, page)
    },

    async get(caller: Caller, federationId: string, queryId: string): Promise<StoredQuery> {
      const federation = await federations.getAsMember(caller, federationId)
      const query = isUuid(queryId) ? await queriesStore.find(database.sql, federation.id, queryId) : null
      if (query === null) throw notFound('Query', queryId, `of federation '${federation.name}'`)
      return query
    },
  }
}
