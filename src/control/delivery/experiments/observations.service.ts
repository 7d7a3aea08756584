import { type Caller, holds, sees } from '../../../domain/access.ts'
import { conflict, forbidden, notFound } from '../../../domain/errors.ts'
import { variantOf } from '../../../domain/experiment.ts'
import { analyseExperiment, type ExperimentAnalysis } from '../../../domain/experiment-analysis.ts'
import { plural } from '../../../domain/plural.ts'
import { type Moments, mergeMoments, NO_MOMENTS } from '../../../domain/statistics/moments.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { DeliveryPlans } from '../assignments/delivery-plans.service.ts'
import type { StoredExperiment, StoredVariant } from './experiments.service.ts'
import { observationsReport } from './observations.report.ts'
import { type MetricSample, observationsStore, type Reading } from './observations.store.ts'
import { createPlacements, type PlacementParts } from './placements.service.ts'

type Metrics = Readonly<Record<string, number | null>>

interface Observation {
  /** The user-chosen id. */
  readonly deviceId: string
  /** Within the range of reported numbers; null values are ignored. */
  readonly metrics: Metrics
}

/** What a device measured with the variant that its assignment names. */
interface Measurement {
  readonly planId: string
  /** Internal id. */
  readonly deviceId: string
  readonly variant: string | null
  readonly metrics: Metrics
}

/** What devices measure in experiments, and the analysis of it. */
export const createObservationsService = (
  context: Context,
  parts: PlacementParts & { readonly plans: Pick<DeliveryPlans, 'find' | 'tests' | 'refresh'> },
) => {
  const { now, database } = context
  const { experiments, plans } = parts
  const { candidatesFor, partOf, placement } = createPlacements(context, parts)

  /**
   * Stores what devices measured. Skips devices that take no part, with the reason.
   * @throws conflict unless the experiment is running; forbidden if a device's own key reports for another device
   */
  const observe = async (caller: Caller, id: string, observations: readonly Observation[]) => {
    const experiment = await experiments.get(caller, id)
    const names = [...new Set(observations.map(({ deviceId }) => deviceId))]
    const known = await candidatesFor(caller, experiment, names)
    if (!holds(caller, 'models:write') && [...known.values()].some((device) => device.id !== caller.deviceId)) {
      throw forbidden('This key may act for its own device only; for others it lacks models:write.')
    }
    if (experiment.status !== 'running') throw notRunning(experiment)
    // Another process may have started the experiment, or added a version, just now.
    await plans.refresh()
    const readings = gather()
    const skipped: { deviceId: string; reason: string; isUnknown: boolean }[] = []
    for (const { deviceId, metrics } of observations) {
      const device = known.get(deviceId)
      if (device === undefined || !sees(caller, device.orgId)) {
        skipped.push({ deviceId, reason: 'It does not exist, or this key has no access to it.', isUnknown: true })
        continue
      }
      const part = partOf(experiment, device)
      if ('outside' in part) skipped.push({ deviceId, reason: part.outside, isUnknown: false })
      else readings.add({ variant: part.index, deviceId: device.id }, metrics)
    }
    const isKept = await database.transaction(async (tx) => {
      if (!(await observationsStore.keepRunning(tx, id))) return false
      await observationsStore.add(tx, id, readings.all(), now())
      return true
    })
    if (!isKept) throw notRunning(await experiments.get(caller, id))
    return { experiment, accepted: observations.length - skipped.length, skipped }
  }

  /** Stores what a device measured with the variant that it has; has no effect unless the experiment is running. */
  const add = async (tx: Executor, { planId, deviceId, variant, metrics }: Measurement): Promise<void> => {
    const plan = plans.find(planId)
    if (plan?.kind !== 'experiment' || !(await observationsStore.keepRunning(tx, planId))) return
    const readings = gather()
    readings.add({ variant: plan.variants.findIndex(({ name }) => name === variant), deviceId }, metrics)
    await observationsStore.add(tx, planId, readings.all(), now())
  }

  return {
    placement,
    observe,

    /** Stores the metrics of a device's report that it runs its variant. */
    observeReport: (measurement: Measurement): Promise<void> => database.transaction((tx) => add(tx, measurement)),

    /** Stores one device's observation. What a batch would skip is an error. */
    async observeOne(caller: Caller, id: string, observation: Observation) {
      const observed = await observe(caller, id, [observation])
      const [refused] = observed.skipped
      if (refused?.isUnknown) throw notFound('Device', refused.deviceId)
      if (refused !== undefined)
        throw conflict(`Observations of device '${refused.deviceId}' are not accepted. ${refused.reason}`)
      return observed
    },

    /**
     * Call it in the transaction that accepts a device's update. What the device measured with the round's model is an
     * observation in the running experiments that assign it exactly this version.
     */
    async observeUpdate(
      tx: Executor,
      update: {
        /** Internal id. */
        readonly deviceId: string
        readonly modelId: string
        readonly version: number
        readonly accuracy: number | null
        readonly loss: number | null
      },
    ): Promise<void> {
      const { accuracy, loss } = update
      if ((accuracy === null && loss === null) || !plans.tests(update.modelId)) return
      const device = await observationsReport.device(tx, update.deviceId)
      const given = device === null ? [] : plans.assignmentsOf(device)
      for (const { planId, kind, offer, variant } of given) {
        if (kind !== 'experiment' || offer.modelId !== update.modelId || offer.versionNumber !== update.version)
          continue
        await add(tx, { planId, deviceId: update.deviceId, variant, metrics: { accuracy, loss } })
      }
    },

    /** Returns what the devices of each variant, by its index, measured of one metric. */
    async samples(id: string, metric: string): Promise<Map<number, Moments>> {
      const samples = await observationsStore.samples(database.sql, id)
      return new Map(samples.filter((one) => one.metric === metric).map(({ variant, devices }) => [variant, devices]))
    },

    /** Compares the variants in this metric, or in the primary one. */
    async analytics(
      caller: Caller,
      id: string,
      requested?: string,
    ): Promise<{
      experiment: StoredExperiment
      metric: string
      variants: {
        variant: StoredVariant
        devices: number
        failed: number
        metrics: ReadonlyMap<string, MetricSample>
      }[]
      analysis: ExperimentAnalysis
    }> {
      const experiment = await experiments.get(caller, id)
      const metric = requested ?? experiment.primaryMetric
      const [samples, counts, failures] = await Promise.all([
        observationsStore.samples(database.sql, id),
        observationsStore.devices(database.sql, id),
        failuresOf(database.sql, experiment),
      ])
      const variants = experiment.variants.map((variant, index) => ({
        variant,
        devices: counts.get(index) ?? 0,
        failed: failures[index]!.length,
        metrics: new Map(samples.filter((one) => one.variant === index).map((one) => [one.metric, one])),
      }))
      const analysis = analyseExperiment({
        metric,
        confidenceLevel: experiment.confidenceLevel,
        variants: variants.map(({ variant, devices: count, metrics }) => ({
          name: variant.name,
          allocation: variant.allocation,
          devices: count,
          metrics: new Map<string, Moments>([...metrics].map(([name, sample]) => [name, sample.devices])),
        })),
      })
      const failed = variants.flatMap(({ variant }, index) => failureWarning(variant.name, failures[index]!))
      const warnings = [...experiments.replacementsOf(experiment), ...failed, ...analysis.warnings]
      return { experiment, metric, variants, analysis: { ...analysis, warnings } }
    },
  }
}

/** Collects one reading for each device and metric, sorted. */
const gather = (): { add(place: Omit<Reading, 'values' | 'metric'>, metrics: Metrics): void; all(): Reading[] } => {
  const found = new Map<string, Reading>()
  return {
    add({ variant, deviceId }, metrics) {
      for (const [metric, value] of Object.entries(metrics)) {
        if (value === null) continue
        const key = `${variant} ${deviceId} ${metric}`
        const values = mergeMoments(found.get(key)?.values ?? NO_MOMENTS, { count: 1, mean: value, m2: 0 })
        found.set(key, { variant, deviceId, metric, values })
      }
    },
    all: () => [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reading]) => reading),
  }
}

/** Returns the reasons of the devices that failed, by variant. */
const failuresOf = async (db: Executor, experiment: StoredExperiment): Promise<(string | null)[][]> => {
  const reasons = experiment.variants.map((): (string | null)[] => [])
  for (const { deviceId, reason } of await observationsReport.failed(db, experiment.id))
    reasons[variantOf(experiment, deviceId)]!.push(reason)
  return reasons
}

/** Devices that cannot run a variant measure nothing with it, so the variant looks better than it is. */
const failureWarning = (variant: string, reasons: readonly (string | null)[]): string[] => {
  if (reasons.length === 0) return []
  const [given] = reasons.filter((reason) => reason !== null)
  const example = given === undefined ? '' : ` (one of them: ${given})`
  return [`Variant '${variant}' failed on ${plural(reasons.length, 'device')}, which its figures leave out${example}.`]
}

const notRunning = ({ status }: { readonly status: string }) =>
  conflict(`The experiment is ${status}; observations are accepted only while it is running.`)

export type ObservationsService = ReturnType<typeof createObservationsService>
