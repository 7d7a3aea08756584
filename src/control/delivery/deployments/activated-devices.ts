import type { Executor } from '../../../platform/db/open.ts'

/** A deployment in force. */
export interface DeploymentInForce {
  readonly id: string
  /** Equal for deployments of one model in one organization, of which newer ones take precedence over older ones. */
  readonly group: string
  readonly startedRevision: number
  /** More devices are activated only if this rises, or if a target is erased, which lowers `targetCount`. */
  readonly percentage: number
  readonly targetCount: number
  readonly activatedCount: number
  readonly settled: boolean
  /** True if it takes its devices from older settled ones of the group: it is settled, and its version is uploaded. */
  readonly replaces: boolean
}

interface Known {
  readonly deployment: DeploymentInForce
  readonly devices: ReadonlySet<string>
}

type Group = ReadonlyMap<string, Known>

const NOBODY: ReadonlySet<string> = new Set()

/**
 * The activated devices of deployments, cached between readings: a fleet's history has many, and they do not change. A
 * settled deployment keeps only the devices on which no newer one has replaced it.
 */
export const createActivatedDevices = (
  read: (db: Executor, ids: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>,
) => {
  let groups: ReadonlyMap<string, Group> = new Map()

  return async (
    db: Executor,
    deployments: readonly DeploymentInForce[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
    const grouped = new Map<string, DeploymentInForce[]>(deployments.map(({ group }) => [group, []]))
    for (const one of deployments) grouped.get(one.group)!.push(one)
    const kept = new Map([...grouped].map(([name, members]) => [name, stillKnown(groups.get(name), members)]))
    const missing = deployments.filter(({ id, group }) => !kept.get(group)!.has(id)).map(({ id }) => id)
    const lists = missing.length === 0 ? new Map<string, readonly string[]>() : await read(db, missing)
    const devicesOf = ({ id, group }: DeploymentInForce): ReadonlySet<string> =>
      kept.get(group)!.get(id)?.devices ?? new Set(lists.get(id))
    groups = new Map([...grouped].map(([name, members]) => [name, arranged(kept.get(name)!, members, devicesOf)]))
    return new Map([...groups.values()].flatMap((group) => [...group].map(([id, { devices }]) => [id, devices])))
  }
}

/** Returns what is known of the group's members, or nothing if one that may have replaced others is gone. */
const stillKnown = (known: Group | undefined, members: readonly DeploymentInForce[]): Group => {
  if (known === undefined) return new Map()
  const now = new Map(members.map((member) => [member.id, member]))
  for (const { deployment } of known.values()) {
    if (deployment.replaces && now.get(deployment.id)?.replaces !== true) return new Map()
  }
  return new Map([...known].filter(([id, { deployment }]) => hasSameDevices(now.get(id), deployment)))
}

const hasSameDevices = (now: DeploymentInForce | undefined, before: DeploymentInForce): boolean =>
  now?.percentage === before.percentage &&
  now.targetCount === before.targetCount &&
  now.activatedCount === before.activatedCount

const arranged = (
  known: Group,
  members: readonly DeploymentInForce[],
  devicesOf: (deployment: DeploymentInForce) => ReadonlySet<string>,
): Group => {
  const isKnown = ({ id, settled, replaces }: DeploymentInForce): boolean => {
    const before = known.get(id)?.deployment
    return before?.settled === settled && before.replaces === replaces
  }
  if (known.size === members.length && members.every(isKnown)) return known
  const replaced = new Set<string>()
  const group = new Map<string, Known>()
  for (const deployment of [...members].sort((a, b) => b.startedRevision - a.startedRevision)) {
    const all = devicesOf(deployment)
    const devices = deployment.settled ? minus(all, replaced) : all
    group.set(deployment.id, { deployment, devices })
    if (deployment.replaces) for (const device of devices) replaced.add(device)
  }
  return group
}

const minus = (devices: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> => {
  if (devices.size === 0 || ![...devices].some((device) => others.has(device))) return devices
  const rest = [...devices].filter((device) => !others.has(device))
  return rest.length === 0 ? NOBODY : new Set(rest)
}
