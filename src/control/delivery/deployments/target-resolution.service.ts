import { type Caller, homeOf } from '../../../domain/access.ts'
import { badRequest, isNotFound } from '../../../domain/errors.ts'
import {
  type ModelsService,
  type ResolvedVersion,
  type StoredModel,
  type StoredVersion,
  UnknownVersion,
} from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { GroupsService } from '../../fleet/groups/groups.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import { versionWarnings } from '../assignments/version-warnings.service.ts'
import { createDeploymentTargets, devicesFor, type TargetSelector } from './deployment-targets.service.ts'
import type { Candidate } from './targets.report.ts'

/** What a selector names now. */
export interface ResolvedTargets {
  /** The organization that the deployment belongs to. */
  readonly orgId: string | null
  readonly model: StoredModel | null
  readonly version: string
  /** The upload of the version; null if there is none yet. */
  readonly uploaded: StoredVersion | null
  readonly targets: readonly Candidate[]
  readonly warnings: readonly string[]
}

/** Returns the deployment's owner. A key without an organization deploys to the devices of the model's organization. */
const ownerOf = (caller: Caller, model: StoredModel | null, targets: readonly Candidate[]): string | null => {
  if (caller.orgId !== null) return caller.orgId
  const orgIds = new Set(targets.map(({ orgId }) => orgId))
  // Possible under open enrollment.
  if (orgIds.has(null)) return null
  return model?.orgId ?? (orgIds.size === 1 ? [...orgIds][0]! : homeOf(caller))
}

/** Returns null for a name that the catalog does not contain: devices may resolve it. */
const createResolve =
  ({ models }: { readonly models: Pick<ModelsService, 'resolve'> }) =>
  async (caller: Caller, { modelName, modelVersion }: TargetSelector): Promise<ResolvedVersion | null> => {
    try {
      return await models.resolve(caller, modelName, modelVersion)
    } catch (error) {
      if (error instanceof UnknownVersion) throw badRequest(`model_version: ${error.message}`)
      if (isNotFound(error)) return null
      throw error
    }
  }

/** Resolves what a request names: a version, and the devices that the deployment may reach. */
export const createTargetResolution = (
  context: Context,
  parts: {
    readonly plans: Pick<DeliveryPlans, 'reaches'>
    readonly models: Pick<ModelsService, 'resolve'>
    readonly groups: Pick<GroupsService, 'locate'>
  },
) => {
  const { plans, groups } = parts
  const targetsOf = createDeploymentTargets(context, { groups })
  const resolve = createResolve(parts)

  /** Resolves a selector to a version and devices. Changes nothing. */
  const resolveTargets = async (caller: Caller, selector: TargetSelector): Promise<ResolvedTargets> => {
    const resolved = await resolve(caller, selector)
    const model = resolved?.model ?? null
    const { targets: found, warnings } = await targetsOf(caller, selector, model?.orgId ?? null)
    const orgId = ownerOf(caller, model, found)
    const targets = found.filter((device) => plans.reaches(orgId, device.orgId))
    const others = found.filter((device) => !targets.includes(device)).map(({ deviceId }) => deviceId)
    if (others.length > 0)
      warnings.push(`Devices of other organizations, which it does not reach: ${devicesFor(caller, others)}.`)
    // Pins what `latest` or an alias is now: a later move must not change a deployment that is under way.
    const version = resolved?.label ?? selector.modelVersion
    if (resolved === null) {
      warnings.push(`The catalog has no model '${selector.modelName}': devices must resolve the name themselves.`)
    } else {
      const target = {
        modelId: resolved.model.id,
        modelName: null,
        version,
        versionNumber: resolved.version?.version ?? null,
      }
      warnings.push(...(await versionWarnings(context.database.sql, target, { isOver: false })))
    }
    targets.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    return { orgId, model, version, uploaded: resolved?.version ?? null, targets, warnings }
  }

  return { resolve, resolveTargets }
}
