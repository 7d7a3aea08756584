import { Type } from 'typebox'
import { AUDIT_ACTORS, AUDIT_RESULTS } from '../../../domain/audit.ts'
import { Binary, Body, Count, Matching, Nullable, OneOf, Part, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const ActorKind = OneOf(AUDIT_ACTORS, {
  title: 'AuditActorKind',
  description: 'Kind of actor; anonymous: the request had no valid key',
})
const Result = OneOf(AUDIT_RESULTS, {
  title: 'AuditResult',
  description: 'refused: not allowed; failed: the request changed something before it failed',
})
const OrgId = Nullable(Type.String({ description: 'Null when the entry belongs to no organization' }))
const Hash = Type.String({ description: 'SHA-256, hexadecimal' })

const FieldChange = Part('AuditFieldChange', 'A changed field; secrets are redacted', {
  field: Type.String(),
  from: Nullable(Type.String({ description: 'JSON, truncated to 200 characters' })),
  to: Nullable(Type.String({ description: 'JSON, truncated to 200 characters' })),
})

export const AuditEntry = Body('AuditEntry', 'Who did what, and when', examples.auditEntry, {
  id: Type.Integer({ description: 'Used for paging; `seq` numbers the entries within an organization' }),
  org_id: OrgId,
  seq: Type.Integer({ minimum: 1 }),
  at: Timestamp,
  actor_kind: ActorKind,
  actor_id: Nullable(Type.String()),
  actor_name: Nullable(
    Type.String({ description: "A person's email address, or the name of a key or device; null after erasure" }),
  ),
  credential_id: Nullable(Type.String({ description: 'The key or session that was used' })),
  address: Nullable(Type.String({ description: 'Null after erasure' })),
  address_id: Nullable(Type.String({ description: 'Replaces the address in the hash' })),
  action: Type.String({ description: 'The operationId of the request' }),
  object_kind: Nullable(Type.String()),
  object_id: Nullable(Type.String()),
  object_name: Nullable(Type.String({ description: 'Its latest name' })),
  changes: Type.Array(FieldChange),
  result: Result,
  status: Nullable(Type.Integer({ description: 'HTTP status of a refused or failed request' })),
  request_id: Type.String(),
  prev_hash: Type.String({ description: 'Hash of the previous entry; empty for the first entry' }),
  hash: Hash,
})

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }))

const filters = {
  org_id: text('One organization; default: all that the key may see'),
  actor: text('Id or email address of a person, id or name of a key or device, or id of a session'),
  action: text('An operationId, such as createKey'),
  object: text('Id or name of what was changed'),
  result: Type.Optional(Result),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Entries at or after this time' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Entries before this time' })),
}

export const AuditQuery = Type.Object({
  ...filters,
  after: Type.Optional(
    Matching('^\\d{1,15}$', '`next` of the previous page', { description: '`next` of the previous page' }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Items per page' }),
})
export const AuditExportQuery = Type.Object({
  ...filters,
  format: OneOf(['jsonl', 'csv'], { default: 'jsonl', description: 'JSON lines, or CSV with a header row' }),
})
export const AuditParams = Type.Object({ entry_id: Type.Integer({ minimum: 1 }) })

export const AuditPage = Body('AuditPage', 'Entries of the audit log, newest first', examples.auditPage, {
  entries: Type.Array(AuditEntry),
  next: Nullable(Type.String({ description: 'Pass as `after` to get the next page; null on the last page' })),
})
export const AuditExport = Binary

const SignedHead = Part('AuditHead', 'The head of a chain (its latest entry), signed by the service', {
  org_id: OrgId,
  seq: Type.Integer({ minimum: 1 }),
  hash: Hash,
  at: Timestamp,
  signature: Type.String({
    description: "Ed25519, base64, of the text that docs/audit.md describes; for org_id null, its organization is ''",
  }),
})
export const AuditHeads = Body('AuditHeads', 'The signed heads of the chains', examples.auditHeads, {
  public_key: Type.String({ description: 'SPKI, base64' }),
  heads: Type.Array(SignedHead),
})

export const VerifyAuditBody = Body('VerifyAudit', 'What to compare the chains with', examples.verifyAudit, {
  org_id: text('One organization; default: all that the key may see'),
  heads: Type.Optional(
    Type.Array(
      Type.Object({
        org_id: OrgId,
        seq: Type.Integer({ minimum: 1 }),
        hash: Type.String({ maxLength: 64 }),
        at: Type.String({ maxLength: 40 }),
        signature: Type.String({ maxLength: 200 }),
      }),
      { maxItems: 2000, description: 'Signed heads that you saved from audit-heads.jsonl or GET /audit/head' },
    ),
  ),
})
export const AuditVerification = Body(
  'AuditVerification',
  'Whether the chains are intact',
  examples.auditVerification,
  {
    valid: Type.Boolean(),
    chains: Type.Array(
      Part('AuditChain', "The result of verifying an organization's chain", {
        org_id: OrgId,
        valid: Type.Boolean(),
        entries: Count,
        first_seq: Count,
        last_seq: Type.Integer({ minimum: 0, description: 'The last valid entry' }),
        last_hash: Type.String(),
        heads: Type.Integer({ minimum: 0, description: 'Number of signed heads compared' }),
        fault_seq: Nullable(Type.Integer({ description: 'The first invalid entry' })),
        fault: Nullable(Type.String()),
      }),
    ),
  },
)
