import type { Caller } from '../domain/access.ts'
import { type TransactionWitness, witnessed, witnessHere } from '../platform/db/transaction-guard.ts'

/** What an audited request did, for its entry in the audit log. */
export interface AuditNote {
  /** As in the API's paths, in the singular: `rollout`. */
  readonly kind: string
  readonly id: string
  readonly name?: string | null
  /** The object's; the caller's when absent or null. */
  readonly orgId?: string | null
  /** The object's fields before and after: those that differ are in the entry. Secrets are left out by their names. */
  readonly before?: object | null
  readonly after?: object | null
  /** Who acted, on a public route, which finds that out itself. */
  readonly actor?: Caller
}

export interface AuditWitness<Tx> extends TransactionWitness<Tx> {
  note(note: AuditNote): void
}

/**
 * Inside a transaction's body: says what this request changes, to be written down in the same transaction. The first note of a
 * transaction counts. Does nothing where no audited request is under way, such as in a periodic task.
 */
export const auditNote = (note: AuditNote): void => (witnessHere() as AuditWitness<unknown> | null)?.note(note)

/** Does what is due anyway, and would be done without the request that happens to find it: it is not in its entry. */
export const unaudited = <T>(work: () => Promise<T>): Promise<T> => witnessed(null, work)
