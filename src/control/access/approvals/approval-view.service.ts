import { actorOf } from '../../../domain/access.ts'
import type { ApprovalView } from './approvals.service.ts'

export const presentApproval = (approval: ApprovalView) => ({
  id: approval.id,
  org_id: approval.orgId,
  kind: approval.kind,
  subject: approval.subject,
  title: approval.title,
  status: approval.status,
  requested_by: actorOf(approval.requester),
  requested_by_name: approval.requestedByName,
  requested_at: approval.requestedAt.toISOString(),
  expires_at: approval.expiresAt.toISOString(),
  decided_by: approval.decidedBy,
  decided_by_name: approval.decidedByName,
  decided_at: approval.decidedAt?.toISOString() ?? null,
  reason: approval.reason,
})
