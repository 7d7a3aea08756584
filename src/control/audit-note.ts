import type { Caller } from '../domain/access.ts'
import { currentObserver, observed, type TransactionObserver } from '../platform/db/transactions.ts'

/** What an audited request did, for its entry in the audit log. */
export interface AuditNote {
  /** The singular of the name in the API's paths: `rollout`. */
  readonly kind: string
  readonly id: string
  readonly name?: string | null
  /** The object's organization; the caller's when absent or null. */
  readonly orgId?: string | null
  /** The object's fields before and after; the entry contains those that differ. Secrets are left out by name. */
  readonly before?: object | null
  readonly after?: object | null
  /** Whether these fields are all that can change: if they stayed the same, no entry is written. */
  readonly onlyIfChanged?: true
  /** The error status of a request that ends with an error although its change, which records the failure, is committed. */
  readonly failedWith?: number
  /** The actor on a public route that identifies the caller itself. */
  readonly actor?: Caller
}

export interface AuditObserver<Tx> extends TransactionObserver<Tx> {
  note(note: AuditNote): void
}

/**
 * Records the change of this request in its audit entry, in the same transaction: call it in the transaction's body. Only the
 * first note of a transaction counts. Does nothing outside an audited request, such as in a periodic task.
 */
export const auditNote = (note: AuditNote): void => (currentObserver() as AuditObserver<unknown> | null)?.note(note)

/** Runs due work that a request merely triggers and that is therefore not part of its audit entry. */
export const unaudited = <T>(work: () => Promise<T>): Promise<T> => observed(null, work)
