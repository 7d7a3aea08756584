import { type Caller, homeOf } from '../../../domain/access.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { Audit } from '../audit/audit.service.ts'
import { teamOf } from './people.service.ts'
import { peopleStore } from './people.store.ts'

/** Erases names from the audit log; the entries stay, with their ids. */
export const createNameErasure =
  ({ database, now }: Context, { audit }: { readonly audit: Pick<Audit, 'eraseNames'> }) =>
  /**
   * Erases the name in the audit log, the addresses of an actor, and a person's email address and name in their account.
   * @throws conflict for a person who was not removed, not_found if nothing is stored
   */
  (caller: Caller, org: string | undefined, kind: string, id: string): Promise<void> => {
    const orgId = teamOf(caller, org)
    return database.transaction(async (tx) => {
      if (kind === 'person' && isUuid(id) && (await peopleStore.find(tx, id))?.orgId === orgId)
        throw conflict('This person is a member: remove them first, with svc team remove.')
      // Actions of an unbound key that named no organization are in a separate chain.
      const chains = org === undefined && homeOf(caller) !== orgId ? [orgId, null] : [orgId]
      const email = kind === 'person' && isUuid(id) ? await peopleStore.eraseRemoved(tx, orgId, id, now()) : null
      let names = 0
      for (const chain of chains) names += await audit.eraseNames(tx, chain, { kind, id, email })
      if (names === 0 && email === null) throw notFound('Name', id, `of kind '${kind}'`)
      auditNote({ kind, id, orgId, after: { erased: true } })
    })
  }

export type EraseNames = ReturnType<typeof createNameErasure>
