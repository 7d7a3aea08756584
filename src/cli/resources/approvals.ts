import { APPROVAL_STATUSES } from '../../domain/approval.ts'
import { action, argument, option, type Resource, type Row } from './resource.ts'

const request = argument('id', 'id of a request', { field: 'approval_id' })

const who = (name: string, id: string) => (row: Row) => row[name] ?? row[id]

export const approvals: Resource = {
  name: 'approvals',
  summary: 'approve or reject requests that need a second admin',
  actions: [
    action('list', 'list requests for approval', 'GET /api/v1/approvals', {
      options: [option('--status <status>', 'only requests in this state', 'status', { choices: APPROVAL_STATUSES })],
      rows: 'approvals',
      columns: [
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['REQUEST', 'title'],
        ['BY', who('requested_by_name', 'requested_by')],
        ['AT', 'requested_at', 'time'],
        ['ENDS', 'expires_at', 'time'],
        ['REASON', 'reason'],
      ],
      none: 'No requests for approval.',
    }),
    action('show', 'show a request for approval', 'GET /api/v1/approvals/{approval_id}', { args: [request] }),
    action('approve', 'approve a request and carry it out', 'POST /api/v1/approvals/{approval_id}/approve', {
      args: [request],
      done: 'Approved: {title}.',
    }),
    action('reject', 'reject a request', 'POST /api/v1/approvals/{approval_id}/reject', {
      args: [request],
      options: [option('--reason <text>', 'reason shown to the requester', 'reason', { required: true })],
      done: 'Rejected: {title}.',
    }),
    action('cancel', 'cancel a request', 'POST /api/v1/approvals/{approval_id}/cancel', {
      args: [request],
      done: 'Canceled: {title}.',
    }),
  ],
}
