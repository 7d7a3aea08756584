import type { Caller } from '../domain/access.ts'
import { type TransactionWitness, witnessed, witnessHere } from '../platform/db/transactions.ts'

/** What an audited request did, for its entry in the audit log. */
export interface AuditNote {
  /** As in the API's paths, in the singular: `rollout`. */
  readonly kind: string
  readonly id: string
  readonly name?: string | null
  /** The object's organization; the caller's when absent or null. */
  readonly orgId?: string | null
  /** The object's fields before and after: those that differ are in the entry. Secrets are left out by their names. */
  readonly before?: object | null
  readonly after?: object | null
  /** The status of the error that the request ends with all the same, where what it changed says that it failed. */
  readonly failedWith?: number
  /** Who acted, on a public route that identifies the caller itself. */
  readonly actor?: Caller
}

export interface AuditWitness<Tx> extends TransactionWitness<Tx> {
  note(note: AuditNote): void
}

/**
 * Inside a transaction's body: records what this request changes, in the same transaction. Only the first note of a
 * transaction counts. Does nothing where no audited request is under way, such as in a periodic task.
 */
export const auditNote = (note: AuditNote): void => (witnessHere() as AuditWitness<unknown> | null)?.note(note)

/** Runs due work that the request only happens to trigger, and so is not part of its audit entry. */
export const unaudited = <T>(work: () => Promise<T>): Promise<T> => witnessed(null, work)
