import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { namedMetrics, outsideWarning, reportedValues, unnamedWarning } from '../../../domain/reported-number.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { matchesTag } from '../../../platform/http/download.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { warn } from '../../../platform/http/warnings.ts'
import { OrgQuery } from '../../fleet/devices/devices.schema.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import { presentAssignment } from '../../fleet/heartbeats/heartbeats.present.ts'
import {
  AssignmentList,
  DeviceParams,
  DeviceReports,
  DeviceReportsQuery,
  Report,
  ReportBody,
  ReportParams,
} from './assignments.schema.ts'
import type { AssignmentsService, ReportOfDevice } from './assignments.service.ts'

export const assignmentsRoutes = (app: App, assignments: AssignmentsService, devices: DevicesService): void => {
  app.get(
    '/api/v1/devices/:device_id/assignments',
    {
      schema: {
        operationId: 'listAssignments',
        summary: "List a device's assignments",
        description: 'The versions assigned to a device, at most one per model. With If-None-Match, 304 if unchanged.',
        params: DeviceParams,
        querystring: OrgQuery,
        response: {
          200: AssignmentList,
          304: Type.Null({ description: 'The assignments have not changed: they are those that If-None-Match names' }),
        },
      },
      config: { access: ['devices:read', 'self'], errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { device_id } = request.params
      const found = await assignments.ofDevice(callerOf(request), { deviceId: device_id, orgId: request.query.org_id })
      const etag = `"${found.tag}"`
      const known = request.headers['if-none-match']
      reply.headers({ etag, 'cache-control': 'private, no-cache' })
      if (known !== undefined && matchesTag(known, etag)) return (reply as FastifyReply).code(304).send()
      return { device_id: found.device.deviceId, assignments: found.assignments.map(presentAssignment) }
    },
  )

  app.get(
    '/api/v1/devices/:device_id/reports',
    {
      schema: {
        operationId: 'listDeviceReports',
        summary: "List a device's reports",
        description: "The device's last report for each plan that assigned it a version, newest first.",
        params: DeviceParams,
        querystring: DeviceReportsQuery,
        response: { 200: DeviceReports },
      },
      config: { access: ['devices:read', 'self'], errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const named = { deviceId: request.params.device_id, orgId: request.query.org_id }
      const found = await assignments.reportsOf(callerOf(request), named, request.query.limit ?? 100)
      return { device_id: found.device.deviceId, reports: found.reports.map(presentReport) }
    },
  )

  app.post(
    '/api/v1/devices/:device_id/assignments/:plan_id/report',
    {
      schema: {
        operationId: 'reportAssignment',
        summary: 'Report the state of an assignment',
        description: 'Report the state of a version that a plan assigned to the device. Idempotent.',
        params: ReportParams,
        querystring: OrgQuery,
        body: ReportBody,
        response: { 200: Report },
      },
      config: {
        access: ['devices:write', 'self'],
        errors: ['not_found', 'conflict'],
        beforeInvalid: async (request) => {
          const { org_id: orgId } = request.query as { org_id?: string }
          await devices.get(callerOf(request), (request.params as { device_id: string }).device_id, { orgId })
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const { device_id, plan_id } = request.params
      const { state, version, reason, metrics } = request.body
      const named = metrics && namedMetrics(metrics)
      if (named !== undefined && named.unnamed.length > 0) warn(request, unnamedWarning('metrics', named.unnamed))
      const reported = named && reportedValues(named.metrics)
      if (reported !== undefined && reported.outside.length > 0) {
        warn(request, outsideWarning('metrics', reported.outside))
      }
      const { report, current } = await assignments.report(
        callerOf(request),
        { deviceId: device_id, orgId: request.query.org_id },
        plan_id,
        {
          state,
          version,
          reason: reason ?? null,
          metrics: reported?.values ?? null,
        },
      )
      return {
        plan_id,
        device_id,
        state: report.state,
        version: report.version,
        reason: report.reason,
        reported_at: report.reportedAt.toISOString(),
        current,
      }
    },
  )
}

const presentReport = (report: ReportOfDevice) => ({
  plan_id: report.planId,
  kind: report.kind,
  model_id: report.modelId,
  model_name: report.modelName,
  state: report.state,
  version: report.version,
  reason: report.reason,
  metrics: report.metrics === null ? null : { ...report.metrics },
  reported_at: report.reportedAt.toISOString(),
})
