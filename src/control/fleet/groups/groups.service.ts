import { type Caller, requireOwnOrg, sees } from '../../../domain/access.ts'
import { badRequest, conflict, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { DevicesService, NamedDevice } from '../devices/devices.service.ts'
import type { DynamicGroups } from './dynamic-groups.service.ts'
import { DYNAMIC, groupsStore, STATIC, type StoredGroup } from './groups.store.ts'
import { groupMembersStore } from './members.store.ts'

export type { StoredGroup } from './groups.store.ts'
export type { GroupMember } from './members.store.ts'

type Named = Pick<StoredGroup, 'name' | 'description' | 'tags' | 'filter'>

type NewGroup = Named & Pick<StoredGroup, 'orgId'> & { readonly groupType: string | undefined }

/** Device groups: named sets of an organization's devices, which plans can target. */
export const createGroupsService = (
  { database, events, now, newId }: Context,
  { devices, dynamicGroups }: { readonly devices: Pick<DevicesService, 'get'>; readonly dynamicGroups: DynamicGroups },
) => {
  /** @throws not_found if there is no such group that the caller may see */
  const get = async (caller: Caller, id: string): Promise<StoredGroup> => {
    const group = isUuid(id) ? await groupsStore.find(database.sql, id) : null
    if (group === null || !sees(caller, group.orgId)) throw notFound('Device group', id)
    return group
  }

  /** Changes the members of the group; `work` returns the devices that it added or removed, with their internal ids. */
  const changeMembers = (
    { id: groupId, orgId, name }: StoredGroup,
    field: 'added' | 'removed',
    work: (tx: Database['sql']) => Promise<ReadonlyMap<string, string>>,
  ): Promise<ReadonlyMap<string, string>> =>
    database.transaction(async (tx) => {
      const locked = await groupsStore.lock(tx, groupId)
      if (locked === null) throw notFound('Device group', groupId)
      if (locked.filter !== null) throw byFilterOnly(locked)
      const changed = await work(tx)
      // Names would stay in the log after a device is erased.
      const after = { [field]: [...changed.values()], [`${field}Devices`]: changed.size }
      const before = changed.size === 0 ? after : null
      auditNote({ kind: 'group', id: groupId, orgId, name, before, after, onlyIfChanged: true })
      if (changed.size > 0) await events.publish(tx, 'group.changed', { groupId, orgId })
      return changed
    })

  const add = async (caller: Caller, id: string, deviceIds: readonly string[], addedBy: string | null) => {
    const group = await get(caller, id)
    const by = { label: addedBy, at: now(), seesUnbound: caller.orgId === null }
    const added = await changeMembers(group, 'added', (tx) => groupMembersStore.add(tx, group.id, deviceIds, by))
    return { group, ...split(deviceIds, added) }
  }

  const remove = async (caller: Caller, id: string, deviceIds: readonly string[]) => {
    const group = await get(caller, id)
    const removed = await changeMembers(group, 'removed', (tx) => groupMembersStore.remove(tx, group.id, deviceIds))
    return { group, ...split(deviceIds, removed) }
  }

  /** Checks that the device can be in the group. @throws not_found */
  const requireDevice = async (caller: Caller, deviceId: string, { orgId }: StoredGroup): Promise<void> => {
    const device = await devices.get(caller, deviceId, { near: orgId }).catch((error: unknown) => {
      // Only other organizations have devices with this id.
      if (error instanceof ServiceError && error.code === 'conflict') return null
      throw error
    })
    if (device === null || (device.orgId !== null && device.orgId !== orgId)) {
      throw notFound('Device', deviceId, orgId === null ? 'without an organization' : `of organization '${orgId}'`)
    }
  }

  /** Updates the members of a group whose filter was set, and returns it. It may be gone in the meantime. */
  const applied = async (group: StoredGroup, change: string): Promise<StoredGroup> => {
    await dynamicGroups.apply({ groupId: group.id, orgId: group.orgId, change })
    return (await groupsStore.find(database.sql, group.id)) ?? group
  }

  return {
    get,
    add,
    remove,

    /** Finds a group by id or name, in this organization, or in all if it is null. @throws bad_request if several match */
    async locate({ orgId }: Pick<Caller, 'orgId'>, idOrName: string): Promise<StoredGroup | null> {
      const [group, another] = await groupsStore.locate(database.sql, idOrName, orgId)
      if (another === undefined) return group ?? null
      throw badRequest(`Several organizations have a device group '${idOrName}'. Use its id.`)
    },

    async create(caller: Caller, { groupType, ...named }: NewGroup): Promise<StoredGroup> {
      const requested = { ...named, groupType: typeOf(groupType, named.filter) }
      requireOwnOrg(caller, requested.orgId)
      requireName(requested.name)
      const group: StoredGroup = { ...requested, id: newId(), deviceCount: 0, createdAt: now() }
      const { id, orgId, filter } = group
      const change = filter && newId()
      await database.transaction(async (tx) => {
        await groupsStore.insert(tx, group, change)
        auditNote({ kind: 'group', ...group, after: requested })
        await events.publish(tx, 'group.changed', { groupId: id, orgId })
      })
      return change === null ? group : applied(group, change)
    },

    async list(
      caller: Caller,
      orgId: string,
      page: { limit: number; offset: number },
    ): Promise<{ groups: StoredGroup[]; total: number }> {
      return sees(caller, orgId) ? groupsStore.list(database.sql, orgId, page) : { groups: [], total: 0 }
    },

    /** Fields that are omitted do not change. */
    async update(caller: Caller, id: string, changes: Partial<Named>): Promise<StoredGroup> {
      const before = await get(caller, id)
      if (changes.name !== undefined) requireName(changes.name)
      const change = newId()
      const group = await database.transaction(async (tx) => {
        const updated = await groupsStore.update(tx, id, changes, change)
        if (updated === null) throw notFound('Device group', id)
        const [was, is] = [namedFields(before), namedFields(updated)]
        auditNote({ kind: 'group', ...updated, before: was, after: is, onlyIfChanged: true })
        await events.publish(tx, 'group.changed', { groupId: id, orgId: updated.orgId })
        return updated
      })
      return changes.filter ? applied(group, change) : group
    },

    /** Its devices stay registered; plans that target it no longer reach devices through it. */
    async delete(caller: Caller, id: string): Promise<StoredGroup> {
      const group = await get(caller, id)
      await database.transaction(async (tx) => {
        if ((await groupsStore.lock(tx, id)) === null) throw notFound('Device group', id)
        await groupsStore.delete(tx, id)
        auditNote({ kind: 'group', ...group, before: namedFields(group) })
        await events.publish(tx, 'group.changed', { groupId: id, orgId: group.orgId })
      })
      return group
    },

    async members(caller: Caller, id: string, page: { limit: number; offset: number }) {
      const group = await get(caller, id)
      return { group, devices: await groupMembersStore.members(database.sql, group.id, page) }
    },

    exists: async (db: Database['sql'], id: string): Promise<boolean> => (await groupsStore.find(db, id)) !== null,

    /** Returns the groups with this device that the caller may see, at most `limit`. @throws not_found, conflict */
    async ofDevice(caller: Caller, { deviceId, orgId }: NamedDevice, limit: number) {
      const device = await devices.get(caller, deviceId, { orgId })
      const ids = await groupMembersStore.groupsOf(database.sql, device.id, limit)
      const found = ids.length === 0 ? [] : await groupsStore.findAll(database.sql, ids)
      return { device, groups: found.filter((group) => sees(caller, group.orgId)) }
    },

    /** Adds a device, which may be a member already. @throws not_found if it does not exist */
    async addOne(caller: Caller, id: string, deviceId: string) {
      const group = await get(caller, id)
      await requireDevice(caller, deviceId, group)
      return add(caller, id, [deviceId], null)
    },

    /** Removes a device, which may not be a member. @throws not_found if it does not exist */
    async removeOne(caller: Caller, id: string, deviceId: string) {
      const group = await get(caller, id)
      const outcome = await remove(caller, id, [deviceId])
      if (outcome.changed.length === 0) await requireDevice(caller, deviceId, group)
      return outcome
    },
  }
}

/** Splits the ids into changed and skipped ones, each once, in the order of the request. */
const split = (deviceIds: readonly string[], changed: ReadonlyMap<string, string>) => {
  const ids = [...new Set(deviceIds)]
  return { changed: ids.filter((id) => changed.has(id)), skipped: ids.filter((id) => !changed.has(id)) }
}

const byFilterOnly = ({ name }: StoredGroup): ServiceError =>
  conflict(
    `Device group '${name}' is dynamic: it has the devices that match its filter. Change its filter, or make it static ` +
      'with "filter": null (svc groups update --static), which keeps its devices.',
  )

/** Returns the fields of a group in the audit log. */
const namedFields = ({ name, description, tags, filter }: Named): Named => ({ name, description, tags, filter })

/** @throws bad_request for a group with a filter and a label of the caller's own */
const typeOf = (label: string | undefined, filter: Named['filter']): string => {
  if (filter === null) return label ?? STATIC
  if (label === undefined || label === DYNAMIC) return DYNAMIC
  throw badRequest(`group_type must be ${DYNAMIC} for a group with a filter. Leave it out, or leave out the filter.`)
}

const requireName = (name: string): void => {
  if (isUuid(name)) throw badRequest('name must not look like the id of a group: plans take either.')
}

export type GroupsService = ReturnType<typeof createGroupsService>
