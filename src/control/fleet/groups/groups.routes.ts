import { readFilter } from '../../../domain/device-filter.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { DeviceParams, OrgQuery } from '../devices/devices.schema.ts'
import { newGroupOf, present } from './groups.present.ts'
import {
  CreateGroupBody,
  DeletedGroup,
  DeviceGroups,
  Group,
  GroupList,
  GroupParams,
  ListGroupsQuery,
  UpdateGroupBody,
} from './groups.schema.ts'
import type { GroupsService } from './groups.service.ts'
import { membersRoutes } from './members.routes.ts'

const MAX_GROUPS_OF_DEVICE = 100

export const groupsRoutes = (app: App, groups: GroupsService, now: () => Date): void => {
  app.get(
    '/api/v1/device-groups',
    {
      schema: {
        operationId: 'listGroups',
        summary: 'List device groups',
        description: 'List the device groups of an organization, oldest first.',
        querystring: ListGroupsQuery,
        response: { 200: GroupList },
      },
      config: { access: 'devices:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { org_id, limit, offset } = request.query
      const found = await groups.list(callerOf(request), org_id, { limit, offset })
      return { groups: found.groups.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/devices/:device_id/groups',
    {
      schema: {
        operationId: 'listGroupsOfDevice',
        summary: 'List the groups of a device',
        description: 'The groups that a device is in, oldest first; at most 100.',
        params: DeviceParams,
        querystring: OrgQuery,
        response: { 200: DeviceGroups },
      },
      config: { access: 'devices:read', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const { device_id: deviceId } = request.params
      const named = { deviceId, orgId: request.query.org_id }
      const found = await groups.ofDevice(callerOf(request), named, MAX_GROUPS_OF_DEVICE)
      return { device_id: found.device.deviceId, groups: found.groups.map(present) }
    },
  )

  app.post(
    '/api/v1/device-groups',
    {
      schema: {
        operationId: 'createGroup',
        summary: 'Create a device group',
        description: 'Create a device group. It has no devices; with a filter, those that match.',
        body: CreateGroupBody,
        response: { 201: Group },
      },
      config: { access: 'devices:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const created = await groups.create(callerOf(request), newGroupOf(request.body))
      return reply.code(201).send(present(created))
    },
  )

  app.get(
    '/api/v1/device-groups/:group_id',
    {
      schema: {
        operationId: 'getGroup',
        summary: 'Get a device group',
        params: GroupParams,
        response: { 200: Group },
      },
      config: { access: 'devices:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await groups.get(callerOf(request), request.params.group_id)),
  )

  app.put(
    '/api/v1/device-groups/:group_id',
    {
      schema: {
        operationId: 'updateGroup',
        summary: 'Update a device group',
        description: 'Change the name, description, tags, or filter. Omitted fields stay as they are.',
        params: GroupParams,
        body: UpdateGroupBody,
        response: { 200: Group },
      },
      config: {
        access: 'devices:write',
        errors: ['not_found', 'conflict'],
        beforeInvalid: async (request) => {
          await groups.get(callerOf(request), (request.params as { group_id: string }).group_id)
        },
      } satisfies RouteConfig,
    },
    async (request) => {
      const { filter, ...changes } = request.body
      const filterChange = filter === undefined ? {} : { filter: filter && readFilter(filter) }
      const updated = await groups.update(callerOf(request), request.params.group_id, { ...changes, ...filterChange })
      return present(updated)
    },
  )

  app.delete(
    '/api/v1/device-groups/:group_id',
    {
      schema: {
        operationId: 'deleteGroup',
        summary: 'Delete a device group',
        description:
          'Delete a device group. Its devices stay registered, but lose the versions that rollouts and experiments for the group assigned: they ' +
          'get what other plans assign to them. Policies and training jobs for the group no longer reach any device.',
        params: GroupParams,
        response: { 200: DeletedGroup },
      },
      config: { access: 'devices:write', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const { id } = await groups.delete(callerOf(request), request.params.group_id)
      return { group_id: id, deleted: true }
    },
  )

  membersRoutes(app, groups, now)
}
