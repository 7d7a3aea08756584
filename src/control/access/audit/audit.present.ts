import type { Static } from '../../../platform/http/wire.schema.ts'
import { AuditEntry } from './audit.schema.ts'
import type { StoredEntry } from './audit.service.ts'
import type { ChainReport, SignedHead } from './chains.service.ts'

export const orgOf = (orgId: string): string | null => (orgId === '' ? null : orgId)

export const presentEntry = (entry: StoredEntry) => ({
  id: entry.id,
  org_id: orgOf(entry.orgId),
  seq: entry.seq,
  at: entry.at.toISOString(),
  actor_kind: entry.actorKind,
  actor_id: entry.actorId,
  actor_name: entry.actorName,
  credential_id: entry.credentialId,
  address: entry.address,
  address_id: entry.addressId,
  action: entry.action,
  object_kind: entry.objectKind,
  object_id: entry.objectId,
  object_name: entry.objectName,
  changes: changesIn(entry.changes),
  result: entry.result,
  status: entry.status,
  request_id: entry.requestId,
  prev_hash: entry.prevHash,
  hash: entry.hash,
})

/** A value that was edited by hand may not be JSON anymore. */
const changesIn = (text: string): { field: string; from: string | null; to: string | null }[] => {
  try {
    return JSON.parse(text)
  } catch {
    return [{ field: 'changes', from: null, to: text.slice(0, 200) }]
  }
}

export const presentHead = ({ orgId, seq, hash, at, signature }: SignedHead) => ({
  org_id: orgOf(orgId),
  seq,
  hash,
  at,
  signature,
})

export const presentChain = ({ orgId, entries, firstSeq, lastSeq, lastHash, heads, fault }: ChainReport) => ({
  org_id: orgOf(orgId),
  valid: fault === null,
  entries,
  first_seq: firstSeq,
  last_seq: lastSeq,
  last_hash: lastHash,
  heads,
  fault_seq: fault?.seq ?? null,
  fault: fault === null ? null : `seq ${fault.seq}: ${fault.reason}.`,
})

/** All fields but `id`, which is for paging. */
const COLUMNS = Object.keys(AuditEntry.properties).filter((name) => name !== 'id') as (keyof Static<
  typeof AuditEntry
>)[]

export const CSV_HEAD = `${COLUMNS.join(',')}\r\n`

/** Returns a cell as in RFC 4180; text that a spreadsheet would treat as a formula gets a leading apostrophe. */
const cell = (value: unknown): string => {
  const text = value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csvLine = (entry: StoredEntry): string => {
  const shown = presentEntry(entry)
  return `${COLUMNS.map((name) => cell(shown[name])).join(',')}\r\n`
}
