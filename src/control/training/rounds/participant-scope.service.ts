import { type Caller, homeOf, requireOwnOrg, sees } from '../../../domain/access.ts'
import { badRequest, forbidden } from '../../../domain/errors.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import { type Scope, selectionStore } from '../../fleet/selection/selection.service.ts'

/** The part of federations that rounds need. */
export interface FederationAccess {
  /** @throws unless the caller's organization is an active member */
  getAsMember(caller: Caller, id: string): Promise<{ readonly id: string; readonly orgId: string }>
  activeOrgs(db: Database['sql'], federationId: string): Promise<readonly string[]>
}

/** The devices that may take part, and the round's organization. */
export interface ParticipantScope {
  readonly orgId: string | null
  readonly groupId: string | null
  readonly federationId: string | null
  readonly scope: Scope
}

export const GROUP_DELETED = 'The device group of this job was deleted. Start another job for its devices.'

/** Determines who may see a round or job, and whose devices take part in it. */
export const createParticipantScopes = (
  { database }: Context,
  {
    groups,
    devices,
    federations,
  }: {
    readonly groups: Pick<GroupsService, 'locate' | 'exists'>
    readonly devices: Pick<DevicesService, 'owner'>
    readonly federations: FederationAccess
  },
) => {
  /** True if the caller's organization started it, or is an active member of its federation. */
  const maySee = async (
    caller: Caller,
    it: { readonly orgId: string | null; readonly federationId: string | null },
  ): Promise<boolean> => {
    if (sees(caller, it.orgId)) return true
    if (it.federationId === null) return false
    return (await federations.activeOrgs(database.sql, it.federationId)).includes(caller.orgId!)
  }

  /** Under open enrollment a device's key is bound to no organization, though the device may belong to one. */
  const orgOfDevice = async (caller: Caller): Promise<string | null> => (await devices.owner(caller)).orgId

  /**
   * The devices that a round or job of this caller may select. If neither request nor key names an organization, they are those
   * of the model's organization.
   */
  const resolve = async (
    caller: Caller,
    requested: {
      readonly orgId: string | undefined
      readonly group: string | undefined
      readonly federation: string | undefined
    },
    orgOfModel: () => Promise<string | null | undefined> = async () => null,
  ): Promise<ParticipantScope> => {
    if (requested.orgId !== undefined) requireOwnOrg(caller, requested.orgId)
    const group = requested.group === undefined ? null : await groups.locate(caller, requested.group)
    if (requested.group !== undefined && group === null) {
      throw badRequest(`group_id: there is no device group '${requested.group}'. Use the id or the name of a group.`)
    }
    const federation =
      requested.federation === undefined ? null : await federations.getAsMember(caller, requested.federation)
    const named = requested.orgId ?? caller.orgId ?? group?.orgId ?? federation?.orgId
    const orgId = named ?? (await (caller.deviceId === null ? orgOfModel() : orgOfDevice(caller))) ?? homeOf(caller)
    const orgIds = federation === null ? null : await federations.activeOrgs(database.sql, federation.id)
    if (orgIds !== null && (orgId === null || !orgIds.includes(orgId))) {
      throw forbidden(
        `Only active members can start rounds of a federation; '${orgId}' is not a member of '${requested.federation}'.`,
      )
    }
    const found = { orgId, groupId: group?.id ?? null, federationId: federation?.id ?? null }
    return { ...found, scope: await scopeOf(database.sql, found) }
  }

  /** The devices within a participant scope at this moment: federation members change. */
  const scopeOf = async (db: Database['sql'], within: Omit<ParticipantScope, 'scope'>): Promise<Scope> => {
    const { orgId, groupId, federationId } = within
    if (federationId !== null) return { orgIds: await federations.activeOrgs(db, federationId), groupId }
    return { orgIds: groupId === null ? [orgId] : 'any', groupId }
  }

  /**
   * @throws forbidden if its organization has left the federation, whose devices it may no longer train with; bad_request if its
   * device group was deleted
   */
  const requireParticipants = async (db: Database['sql'], within: Omit<ParticipantScope, 'scope'>): Promise<void> => {
    const { orgId, federationId, groupId } = within
    if (groupId !== null && !(await groups.exists(db, groupId))) throw badRequest(GROUP_DELETED)
    if (federationId === null || (await federations.activeOrgs(db, federationId)).includes(orgId!)) return
    throw forbidden(
      `'${orgId}' is no longer a member of the federation: it cannot train with the devices of its members.`,
    )
  }

  /** True if the device could take part in the round, judging only by the device. */
  const includes = async (round: Omit<ParticipantScope, 'scope'>, deviceId: string): Promise<boolean> =>
    selectionStore.belongsTo(database.sql, await scopeOf(database.sql, round), deviceId)

  return { maySee, resolve, scopeOf, requireParticipants, includes }
}

export type ParticipantScopes = ReturnType<typeof createParticipantScopes>
