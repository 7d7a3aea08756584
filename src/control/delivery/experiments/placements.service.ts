import { type Caller, holds, sees } from '../../../domain/access.ts'
import type { AssignedDevice } from '../../../domain/assignment.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { variantOf } from '../../../domain/experiment.ts'
import type { Context } from '../../context.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { ExperimentsService, StoredExperiment, StoredVariant } from './experiments.service.ts'
import { type Candidate, observationsReport } from './observations.report.ts'

/** A device's variant, or why it has none. */
type Place = { readonly index: number; readonly variant: StoredVariant } | { readonly outside: string }

export interface PlacementParts {
  readonly experiments: Pick<ExperimentsService, 'get' | 'replacementsOf'>
  readonly plans: Pick<DeliveryPlans, 'assignmentsOf' | 'reaches' | 'refresh'>
  readonly devices: Pick<DevicesService, 'owner'>
}

/** Finds the variants of experiments that devices have. */
export const createPlacements = ({ database }: Context, { experiments, plans, devices }: PlacementParts) => {
  const placeOf = (experiment: StoredExperiment, device: Candidate): Place => {
    if (!plans.reaches(experiment.orgId, device.orgId)) {
      return { outside: 'It belongs to a different organization than the experiment.' }
    }
    if (!device.isTargeted) return { outside: "It is in none of the experiment's target groups." }
    const index = variantOf(experiment, device.deviceId)
    return { index, variant: experiment.variants[index]! }
  }

  /** Returns why the device is not assigned its variant now, or null. */
  const unassigned = (experiment: StoredExperiment, variant: StoredVariant, device: AssignedDevice): string | null => {
    const assignments = plans.assignmentsOf(device)
    if (assignments.some(({ planId }) => planId === experiment.id)) return null
    if (experiment.status !== 'running') return `The experiment is ${experiment.status}.`
    const given = assignments.find(({ offer }) => offer.modelId === variant.modelId)
    return given === undefined
      ? `Version ${variant.version} of variant '${variant.name}' has not been uploaded yet.`
      : `Its variant is '${variant.name}', but ${given.kind} ${given.planId} takes precedence and assigns version ${given.offer.version}.`
  }

  const candidatesFor = (caller: Caller, { orgId, targetGroups }: StoredExperiment, names: readonly string[]) =>
    observationsReport.candidates(database.sql, names, targetGroups, {
      deviceId: caller.deviceId,
      near: caller.orgId ?? orgId,
    })

  /** Returns the number of a device's variant, or why it takes no part in the experiment. */
  const partOf = (
    experiment: StoredExperiment,
    device: Candidate,
  ): { readonly outside: string } | { readonly index: number } => {
    const place = placeOf(experiment, device)
    if ('outside' in place) return place
    const outside = unassigned(experiment, place.variant, device)
    return outside === null ? { index: place.index } : { outside }
  }

  return {
    candidatesFor,
    partOf,

    /** Returns the variant that a device has or would have, and whether it is assigned now. */
    async placement(caller: Caller, id: string, deviceId: string | undefined) {
      const experiment = await experiments.get(caller, id)
      const name = deviceId ?? (await devices.owner(caller)).deviceId
      const device = (await candidatesFor(caller, experiment, [name])).get(name)
      if (device === undefined || !sees(caller, device.orgId)) throw notFound('Device', name)
      if (caller.deviceId !== null && caller.deviceId !== device.id && !holds(caller, 'devices:read')) {
        throw forbidden('This key may ask for its own device only; for others it lacks devices:read.')
      }
      const place = placeOf(experiment, device)
      if ('outside' in place) return { experiment, device, variant: null, reason: place.outside }
      // Another process may have changed plans just now.
      await plans.refresh()
      const { variant } = place
      return { experiment, device, variant, reason: unassigned(experiment, variant, device) }
    },
  }
}
