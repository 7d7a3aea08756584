import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { presentAdded, presentMember, presentRemoved } from './groups.present.ts'
import {
  AddDevicesBody,
  Added,
  GroupParams,
  MemberList,
  MemberParams,
  MembersQuery,
  RemoveDevicesBody,
  Removed,
} from './groups.schema.ts'
import type { GroupsService } from './groups.service.ts'

/** Routes for the members of a group. */
export const membersRoutes = (app: App, groups: GroupsService, now: () => Date): void => {
  const beforeInvalid = async (request: FastifyRequest): Promise<void> => {
    await groups.get(callerOf(request), (request.params as { group_id: string }).group_id)
  }
  const reads = { access: 'devices:read', errors: ['not_found'], beforeInvalid } as const satisfies RouteConfig
  const writes = { access: 'devices:write', errors: ['not_found'], beforeInvalid } as const satisfies RouteConfig

  app.get(
    '/api/v1/device-groups/:group_id/devices',
    {
      schema: {
        operationId: 'listGroupDevices',
        summary: 'List the devices of a group',
        description: 'The devices of a group, in the order in which they were added.',
        params: GroupParams,
        querystring: MembersQuery,
        response: { 200: MemberList },
      },
      config: reads,
    },
    async (request) => {
      const { limit, offset } = request.query
      const { group, devices } = await groups.members(callerOf(request), request.params.group_id, { limit, offset })
      return {
        devices: devices.map((device) => presentMember(device, group, now())),
        total: group.deviceCount,
        limit,
        offset,
      }
    },
  )

  app.post(
    '/api/v1/device-groups/:group_id/devices',
    {
      schema: {
        operationId: 'addGroupDevices',
        summary: 'Add devices to a group',
        params: GroupParams,
        body: AddDevicesBody,
        response: { 200: Added },
      },
      config: writes,
    },
    async (request) => {
      const { device_ids, added_by } = request.body
      return presentAdded(await groups.add(callerOf(request), request.params.group_id, device_ids, added_by ?? null))
    },
  )

  app.delete(
    '/api/v1/device-groups/:group_id/devices',
    {
      schema: {
        operationId: 'removeGroupDevices',
        summary: 'Remove devices from a group',
        params: GroupParams,
        body: RemoveDevicesBody,
        response: { 200: Removed },
      },
      config: writes,
    },
    async (request) =>
      presentRemoved(await groups.remove(callerOf(request), request.params.group_id, request.body.device_ids)),
  )

  oneMemberRoutes(app, groups, writes)
}

/** Routes that add or remove a single device. */
const oneMemberRoutes = (app: App, groups: GroupsService, writes: RouteConfig): void => {
  app.post(
    '/api/v1/device-groups/:group_id/devices/:device_id',
    {
      schema: {
        operationId: 'addGroupDevice',
        summary: 'Add a device to a group',
        description: 'Add one device; one that is in the group already is skipped.',
        params: MemberParams,
        response: { 200: Added },
      },
      config: writes,
    },
    async (request) => {
      const { group_id, device_id } = request.params
      return presentAdded(await groups.addOne(callerOf(request), group_id, device_id))
    },
  )

  app.delete(
    '/api/v1/device-groups/:group_id/devices/:device_id',
    {
      schema: {
        operationId: 'removeGroupDevice',
        summary: 'Remove a device from a group',
        description: 'Remove one device; one that is not in the group is skipped.',
        params: MemberParams,
        response: { 200: Removed },
      },
      config: writes,
    },
    async (request) => {
      const { group_id, device_id } = request.params
      return presentRemoved(await groups.removeOne(callerOf(request), group_id, device_id))
    },
  )
}
