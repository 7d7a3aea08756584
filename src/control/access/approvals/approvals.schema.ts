import { Type } from 'typebox'
import { APPROVAL_KIND_NAMES, APPROVAL_STATUSES } from '../../../domain/approval.ts'
import { Body, Matching, Nullable, OneOf, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Status = OneOf(APPROVAL_STATUSES, {
  title: 'ApprovalStatus',
  description:
    'failed: approved, but its target had changed in the meantime, or the requester is no longer allowed to do this',
})
const Who = Nullable(Type.String({ description: 'Id of a person or key' }))
const Name = Nullable(Type.String({ description: 'Null when there is none or it was erased' }))

export const Approval = Body('Approval', 'A request that another admin approves or rejects', examples.approval, {
  id: Uuid,
  org_id: Type.String(),
  kind: OneOf(APPROVAL_KIND_NAMES, { title: 'ApprovalKind', description: 'The action that approval carries out' }),
  subject: Type.String({
    description: 'What it changes: a model id with an alias, a deployment, a rollout, or an organization',
  }),
  title: Type.String({ description: 'Details of the action' }),
  status: Status,
  requested_by: Type.String({ description: 'Id of a person or key' }),
  requested_by_name: Name,
  requested_at: Timestamp,
  expires_at: Timestamp,
  decided_by: Who,
  decided_by_name: Name,
  decided_at: Nullable(Timestamp),
  reason: Nullable(Type.String({ description: 'Why it was not carried out' })),
})

export const ApprovalPage = Body('ApprovalPage', 'Requests for approval, newest first', examples.approvalPage, {
  approvals: Type.Array(Approval),
  next: Nullable(Type.String({ description: 'Pass as `after` to get the next page; null on the last page' })),
})

export const ApprovalQuery = Type.Object({
  org_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'One organization' })),
  status: Type.Optional(Status),
  after: Type.Optional(
    Matching('^\\d{1,15}$', '`next` of the previous page', { description: '`next` of the previous page' }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Items per page' }),
})
export const ApprovalParams = Type.Object({ approval_id: Type.String({ description: 'Id of a request for approval' }) })
export const RejectBody = Body('Rejection', 'Why it is not approved', examples.rejection, {
  reason: Type.String({ minLength: 1, maxLength: 1000, description: 'Shown to the requester' }),
})
