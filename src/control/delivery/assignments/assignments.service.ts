import { type Caller, holds } from '../../../domain/access.ts'
import { type Assignment, tagOfAll } from '../../../domain/assignment.ts'
import type { ReportState } from '../../../domain/delivery-plan.ts'
import { forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { DevicesService, NamedDevice, StoredDevice } from '../../fleet/devices/devices.service.ts'
import type { DeliveryPlans } from './delivery-plans.service.ts'
import { type DeviceWithReport, reportedDevicesReport } from './reported-devices.report.ts'
import { type ReportCounts, type ReportToStore, reportsStore, type StoredReport } from './reports.store.ts'

export type { ReportOfDevice } from './reported-devices.report.ts'
export type { ReportCounts } from './reports.store.ts'

export interface NewReport {
  readonly state: ReportState
  readonly version: string
  readonly reason: string | null
  readonly metrics: Readonly<Record<string, number | null>> | null
}

/** A device that a plan reaches or has reached: it is `assigned`, has a report, or both. */
export type AffectedDevice = DeviceWithReport & { readonly assigned: boolean }

const FLEET_SLICE = 5000

/** The assignments of devices, and their reports on them. */
export const createAssignmentsService = (
  { database, events, now }: Context,
  {
    plans,
    devices,
    measured,
  }: {
    readonly plans: DeliveryPlans
    readonly devices: DevicesService
    /** Called if a device reports metrics and that it runs its variant of an experiment. */
    readonly measured: (measurement: {
      readonly planId: string
      /** Internal id. */
      readonly deviceId: string
      readonly variant: string | null
      readonly metrics: NonNullable<NewReport['metrics']>
    }) => Promise<void>
  },
) => {
  const save = createBatcher<ReportToStore, void>({
    maxBatch: 1000,
    run: async (reports) => {
      const newest = new Map(reports.map((report) => [`${report.planId} ${report.deviceId}`, report]))
      await reportsStore.save(
        database.sql,
        [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, report]) => report),
      )
      return reports.map(() => undefined)
    },
  })

  const settle = createBatcher<string, void>({
    maxBatch: 1000,
    run: async (planIds) => {
      await events.announce('assignments.reported', { planIds: new Set(planIds) })
      return planIds.map(() => undefined)
    },
  })

  /** Returns the device if this key may act for it. Throws not_found before forbidden. */
  const deviceOf = async (
    caller: Caller,
    { deviceId, orgId }: NamedDevice,
    grant: 'devices:read' | 'devices:write',
  ) => {
    const device = await devices.get(caller, deviceId, { orgId })
    if (!holds(caller, grant) && caller.deviceId !== device.id) {
      throw forbidden(`This key may act for its own device only; for others it lacks ${grant}.`)
    }
    return device
  }

  /** What the plan assigns to the device, if it is this version, which may be named by its label or its number. */
  const currentAssignment = (device: StoredDevice, planId: string, version: string): Assignment | null => {
    const assignment = plans.assignmentBy(planId, device)
    const { offer } = assignment ?? {}
    return offer?.version === version || String(offer?.versionNumber) === version ? assignment : null
  }

  const scopeOf = ({ orgId }: { readonly orgId: string | null }) => ({
    orgId,
    everyOrg: orgId === null && plans.reaches(null, 'any'),
  })

  return {
    async ofDevice(
      caller: Caller,
      named: NamedDevice,
    ): Promise<{ device: StoredDevice; assignments: readonly Assignment[]; tag: string }> {
      const device = await deviceOf(caller, named, 'devices:read')
      const assignments = plans.assignmentsOf(device)
      return { device, assignments, tag: tagOfAll(assignments) }
    },

    /** Returns a device's reports on all plans, newest first. */
    async reportsOf(caller: Caller, named: NamedDevice, limit: number) {
      const device = await deviceOf(caller, named, 'devices:read')
      return { device, reports: await reportedDevicesReport.ofDevice(database.sql, device.id, limit) }
    },

    /**
     * Stores a device's report on a plan. `current` is false if the plan does not (or no longer) assign this version to the
     * device, which is no error: plans change while devices work.
     */
    async report(
      caller: Caller,
      named: NamedDevice,
      planId: string,
      requested: NewReport,
    ): Promise<{ report: StoredReport; current: boolean }> {
      const device = await deviceOf(caller, named, 'devices:write')
      const owner = plans.find(planId) ?? (isUuid(planId) ? await plans.owner(planId) : null)
      const isDeleted = owner !== null && 'isDeleted' in owner && owner.isDeleted
      if (owner === null || !(isDeleted || plans.reaches(owner.orgId, device.orgId))) throw notFound('Plan', planId)
      const report: StoredReport = { ...requested, planId, deviceId: device.id, reportedAt: now() }
      const assigned = (): Assignment | null => currentAssignment(device, planId, requested.version)
      // Another process may have changed the plan just now.
      if (assigned() === null) await plans.refresh()
      if (!isDeleted) {
        const assignment = assigned()
        const { version, versionNumber } = assignment?.offer ?? { version: requested.version, versionNumber: null }
        await save({ ...report, version, versionNumber, current: assignment !== null })
        const { state, metrics } = requested
        if (state === 'active' && metrics !== null && assignment?.kind === 'experiment') {
          await measured({ planId, deviceId: device.id, variant: assignment.variant, metrics })
        }
        if (requested.state !== 'downloading' && requested.state !== 'verifying') await settle(planId)
      }
      return { report, current: assigned() !== null }
    },

    counts: (planId: string, since: Date | null = null): Promise<ReportCounts> =>
      reportsStore.counts(database.sql, planId, since),

    /** Returns why devices failed, most frequent reason first. */
    failureReasons: async (planId: string, limit: number) =>
      (await reportsStore.failures(database.sql, planId, null)).reasons.slice(0, limit),

    /** Counts the devices that failed at `since` or later and, only if there are any, those that run the plan's version. */
    async healthOf(db: Executor, planId: string, since: Date | null) {
      const failures = await reportsStore.failures(db, planId, since)
      const active = failures.failed === 0 ? 0 : (await reportsStore.counts(db, planId, since)).active
      return { ...failures, active }
    },

    /** True if every device of a plan's scope that has reported, or was heard from at `since` or later, runs its version. */
    runsEverywhere: (
      db: Executor,
      plan: { readonly id: string; readonly orgId: string | null; readonly groupId: string | null },
      since: Date,
    ): Promise<boolean> => reportedDevicesReport.allRun(db, plan, scopeOf(plan), since),

    /** Has those of these plans that are running checked, after the commit, as if devices had reported on them. */
    async recheck(tx: Executor, planIds: ReadonlySet<string>): Promise<void> {
      if (planIds.size === 0) return
      await reportsStore.markReported(tx, [...planIds])
      await events.publish(tx, 'assignments.reported', { planIds })
    },

    /** Call it in the transaction that deletes the plan. */
    forget: (tx: Executor, planId: string): Promise<void> => reportsStore.forget(tx, planId),

    /**
     * Returns the devices that a plan reaches or has reached, in order of registration, and the number in each state of
     * those that it reaches now. Scans the whole fleet.
     */
    async affectedBy(
      plan: { readonly id: string; readonly orgId: string | null },
      page: { limit: number; offset: number },
    ): Promise<{ devices: AffectedDevice[]; total: number; states: Readonly<Record<string, number>> }> {
      const scope = scopeOf(plan)
      const found: AffectedDevice[] = []
      const states: Record<string, number> = {}
      let total = 0
      for (let after = 0; ; ) {
        const slice = await reportedDevicesReport.devices(database.sql, plan.id, scope, after, FLEET_SLICE)
        for (const device of slice) {
          const assigned = plans.assignmentBy(plan.id, device) !== null
          if (!assigned && device.report === null) continue
          if (assigned) {
            const state = device.report?.state ?? 'assigned'
            states[state] = (states[state] ?? 0) + 1
          }
          if (total >= page.offset && found.length < page.limit) found.push({ ...device, assigned })
          total++
        }
        if (slice.length < FLEET_SLICE) return { devices: found, total, states }
        after = slice.at(-1)!.ordinal
      }
    },
  }
}

export type AssignmentsService = ReturnType<typeof createAssignmentsService>
