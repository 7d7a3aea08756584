import { cut } from './text.ts'

/** How an audited request ended. A refused one was not allowed; a failed one had changed something before its error. */
export const AUDIT_RESULTS = ['ok', 'refused', 'failed'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]

/** Who acts: `anonymous` showed no valid key; `session` is a browser that signed in without a key, under open enrollment. */
export const AUDIT_ACTORS = ['person', 'key', 'device', 'session', 'anonymous'] as const
export type AuditActor = (typeof AUDIT_ACTORS)[number]

/** A field that has another value than before, both as JSON text; null where it did not exist. */
export interface FieldChange {
  readonly field: string
  readonly from: string | null
  readonly to: string | null
}

/** What one entry of the log says. People and addresses are in it as references only. */
export interface AuditEntry {
  /** Empty: of no organization. */
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
  /** Hash of the entry before; empty for the first. */
  readonly prevHash: string
}

/** The text whose SHA-256 is the entry's hash: a JSON array in this order, without spaces. */
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

/** The text that the head of a chain is signed by; `kind` keeps a pruned entry's signature from passing for a head's. */
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

/** Secrets are found by their field's name and, wherever they are, by their form. */
const scrubbed = (text: string): string =>
  text
    .replace(/sk_live_\w+/g, REDACTED)
    .replace(/whsec_[\w+/=-]+/g, REDACTED)
    .replace(/:\/\/[^/@\s"]+@/g, `://${REDACTED}@`)
    .replace(/([?&][\w.-]+=)[^&#\s"]*/g, `$1${REDACTED}`)

const shownValue = (field: string, value: unknown): string | null => {
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
 * The fields that differ, in the order of their names: at most 40, each value at most 200 characters of JSON. Secrets and what
 * tells who a person is are not in it: only that they changed.
 */
export const changesOf = (before: Fields | null, after: Fields | null): readonly FieldChange[] => {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort()
  const changed = names.filter(
    (name) => JSON.stringify(before?.[name] ?? null) !== JSON.stringify(after?.[name] ?? null),
  )
  const shown = changed.slice(0, MAX_FIELDS).map((name) => {
    const field = snakeCase(name)
    return { field, from: shownValue(field, before?.[name]), to: shownValue(field, after?.[name]) }
  })
  const rest = changed.length - shown.length
  return rest === 0 ? shown : [...shown, { field: '…', from: null, to: `"${rest} more fields"` }]
}
