import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { runDue } from '../../periodic-tasks.ts'
import { presentApproval } from './approval-view.service.ts'
import { Approval, ApprovalPage, ApprovalParams, ApprovalQuery, RejectBody } from './approvals.schema.ts'
import type { Approvals } from './approvals.service.ts'

/** Routes for requests that wait for a second admin. */
export const approvalsRoutes = (app: App, approvals: Approvals): void => {
  /** Returns 404 for a request that does not exist, whatever else is wrong. */
  const beforeInvalid: NonNullable<RouteConfig['beforeInvalid']> = async (request) => {
    await approvals.get(callerOf(request), (request.params as { approval_id: string }).approval_id)
  }
  const one = { params: ApprovalParams, response: { 200: Approval } } as const
  const decides = { access: 'admin', errors: ['not_found', 'conflict'] } as const satisfies RouteConfig

  app.get(
    '/api/v1/approvals',
    {
      schema: {
        operationId: 'listApprovals',
        summary: 'List requests for approval',
        description: 'Pending and decided requests, newest first.',
        querystring: ApprovalQuery,
        response: { 200: ApprovalPage },
      },
      config: { access: 'models:read', deviceKeys: false } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id: orgId, status, after, limit } = request.query
      const page = { before: after === undefined ? null : Number(after), limit }
      const { approvals: found, next } = await approvals.list(callerOf(request), { orgId, status }, page)
      return { approvals: found.map(presentApproval), next: next === null ? null : String(next) }
    },
  )

  app.get(
    '/api/v1/approvals/:approval_id',
    {
      schema: { ...one, operationId: 'getApproval', summary: 'Get a request for approval' },
      config: { access: 'models:read', deviceKeys: false, errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      await runDue(approvals.expire)
      return presentApproval(await approvals.get(callerOf(request), request.params.approval_id))
    },
  )

  app.post(
    '/api/v1/approvals/:approval_id/approve',
    {
      schema: {
        ...one,
        operationId: 'approveRequest',
        summary: 'Approve a request and carry it out',
        description:
          'Requires an admin other than the requester, signed in or with a personal key. The action runs exactly as requested. If ' +
          'its target has changed in the meantime, or the requester is no longer allowed to do this, nothing happens: the response is ' +
          '409 and the request fails.',
      },
      config: decides,
    },
    async (request) => presentApproval(await approvals.approve(callerOf(request), request.params.approval_id)),
  )

  app.post(
    '/api/v1/approvals/:approval_id/reject',
    {
      schema: { ...one, operationId: 'rejectRequest', summary: 'Reject a request', body: RejectBody },
      config: { ...decides, beforeInvalid },
    },
    async (request) =>
      presentApproval(await approvals.reject(callerOf(request), request.params.approval_id, request.body.reason)),
  )

  app.post(
    '/api/v1/approvals/:approval_id/cancel',
    {
      schema: {
        ...one,
        operationId: 'cancelRequest',
        summary: 'Cancel a request for approval',
        description: 'Only the requester and admins can cancel.',
      },
      config: { ...decides, access: 'models:write' },
    },
    async (request) => presentApproval(await approvals.cancel(callerOf(request), request.params.approval_id)),
  )
}
