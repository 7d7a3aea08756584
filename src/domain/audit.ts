import { cut } from './text.ts'

/** The outcome of an audited request. refused: not permitted; failed: an error occurred after something had changed. */
export const AUDIT_RESULTS = ['ok', 'refused', 'failed'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]

/** Who acts. `anonymous` had no valid key; `session` is a browser that signed in without a key, under open enrollment. */
export const AUDIT_ACTORS = ['person', 'key', 'device', 'session', 'anonymous'] as const
export type AuditActor = (typeof AUDIT_ACTORS)[number]

/** A changed field with its old and new values as JSON text; null if the field did not exist. */
export interface FieldChange {
  readonly field: string
  readonly from: string | null
  readonly to: string | null
}

/** One entry of the audit log. People and addresses appear only as references. */
export interface AuditEntry {
  /** Empty: no organization. */
  readonly orgId: string
  /** Counts from 1 in each organization. */
  readonly seq: number
  readonly at: Date
  readonly actorKind: AuditActor
  readonly actorId: string | null
  readonly credentialId: string | null
  readonly addressId: string | null
  /** The operationId of the request. */
  readonly action: string
  readonly objectKind: string | null
  readonly objectId: string | null
  /** JSON text of `FieldChange[]`. */
  readonly changes: string
  readonly result: AuditResult
  readonly status: number | null
  readonly requestId: string
  /** Hash of the previous entry; empty for the first. */
  readonly prevHash: string
}

/** Returns the text whose SHA-256 is the entry's hash: a JSON array in this order, without spaces. */
export const canonicalEntry = (entry: AuditEntry): string =>
  JSON.stringify([
    1,
    entry.orgId,
    entry.seq,
    entry.at.toISOString(),
    entry.actorKind,
    entry.actorId,
    entry.credentialId,
    entry.addressId,
    entry.action,
    entry.objectKind,
    entry.objectId,
    entry.changes,
    entry.result,
    entry.status,
    entry.requestId,
    entry.prevHash,
  ])

/** Returns the text signed for the head of a chain. `kind` keeps a pruned entry's signature from being used for a head. */
export const canonicalHead = (
  kind: 'head' | 'pruned',
  {
    orgId,
    seq,
    hash,
    at,
  }: { readonly orgId: string; readonly seq: number; readonly hash: string; readonly at: string },
): string => JSON.stringify([`audit-${kind}`, 1, orgId, seq, hash, at])

const MAX_FIELDS = 40
const MAX_VALUE_CHARS = 200
const SECRET =
  /(^|_)(secrets?|tokens?|passwords?|passphrase|hash|api_?key|authorization|credentials?|totp|code|cookie|private_key|config)($|_)/i
const PERSONAL = /(^|_)(e_?mail|phone)($|_)/i
const REDACTED = '[redacted]'

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Redacts secrets that are recognizable by their format, in any field. */
const scrubbed = (text: string): string =>
  text
    .replace(/sk_live_\w+/g, REDACTED)
    .replace(/whsec_[\w+/=-]+/g, REDACTED)
    .replace(/:\/\/[^/@\s"]+@/g, `://${REDACTED}@`)
    .replace(/([?&][\w.-]+=)[^&#\s"]*/g, `$1${REDACTED}`)

const displayValue = (field: string, value: unknown): string | null => {
  if (value === undefined) return null
  if (SECRET.test(field) || PERSONAL.test(field)) return value === null ? 'null' : `"${REDACTED}"`
  const text = scrubbed(
    JSON.stringify(value, (name, inner: unknown) =>
      name !== '' && (SECRET.test(snakeCase(name)) || PERSONAL.test(snakeCase(name))) ? REDACTED : inner,
    ) ?? 'null',
  )
  return text.length > MAX_VALUE_CHARS ? `${cut(text, MAX_VALUE_CHARS)}…` : text
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the changed fields, sorted by name: at most 40, each value at most 200 characters of JSON. Secrets and personal data
 * are redacted; only the fact that they changed is included.
 */
export const changesOf = (before: Fields | null, after: Fields | null): readonly FieldChange[] => {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort()
  const changed = names.filter(
    (name) => JSON.stringify(before?.[name] ?? null) !== JSON.stringify(after?.[name] ?? null),
  )
  const shown = changed.slice(0, MAX_FIELDS).map((name) => {
    const field = snakeCase(name)
    return { field, from: displayValue(field, before?.[name]), to: displayValue(field, after?.[name]) }
  })
  const rest = changed.length - shown.length
  return rest === 0 ? shown : [...shown, { field: '…', from: null, to: `"${rest} more fields"` }]
}
