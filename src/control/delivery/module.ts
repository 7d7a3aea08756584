import type { Access } from '../access/module.ts'
import type { Catalog } from '../catalog/module.ts'
import type { Context } from '../context.ts'
import type { Fleet } from '../fleet/module.ts'
import type { Module } from '../module.ts'
import { runEach } from '../periodic-tasks.ts'
import { assignmentsRoutes } from './assignments/assignments.routes.ts'
import { createAssignmentsService } from './assignments/assignments.service.ts'
import { createDeliveryPlans } from './assignments/delivery-plans.service.ts'
import { keepDeliveredVersions } from './assignments/kept-versions.service.ts'
import { createReportedPlans } from './assignments/reported-plans.service.ts'
import { deploymentsRoutes } from './deployments/deployments.routes.ts'
import { createDeploymentsService } from './deployments/deployments.service.ts'
import { deploymentsStore } from './deployments/deployments.store.ts'
import { createDeploymentsInForce } from './deployments/deployments-in-force.store.ts'
import { createEstimatesService } from './experiments/estimates.service.ts'
import { experimentsRoutes } from './experiments/experiments.routes.ts'
import { createExperimentsService } from './experiments/experiments.service.ts'
import { experimentsStore } from './experiments/experiments.store.ts'
import { createObservationsService } from './experiments/observations.service.ts'
import {
  activeRolloutsOf,
  adoptDelivery,
  deliveryRowsOf,
  isDelivered,
  leaveDeployments,
  redactReasons,
} from './ownership.store.ts'
import { pairingsRoutes } from './pairings/pairings.routes.ts'
import { createPairingsService } from './pairings/pairings.service.ts'
import { policiesRoutes } from './policies/policies.routes.ts'
import { createPoliciesService } from './policies/policies.service.ts'
import { rolloutsRoutes } from './rollouts/rollouts.routes.ts'
import { createRolloutsService } from './rollouts/rollouts.service.ts'
import { rolloutsStore } from './rollouts/rollouts.store.ts'
import { usesOf } from './version-uses.report.ts'

interface Earlier {
  readonly access: Access
  readonly catalog: Catalog
  readonly fleet: Fleet
}

const HOUR_MS = 60 * 60 * 1000

const create = (context: Context, { access, catalog, fleet }: Earlier) => {
  const { config, events, changes } = context
  const { models, roundResults } = catalog
  const { devices, groups } = fleet
  const stores = {
    rollouts: rolloutsStore,
    deployments: deploymentsStore,
    experiments: experimentsStore,
  }
  const sources = () => [stores.rollouts, createDeploymentsInForce(), stores.experiments]
  const plans = createDeliveryPlans(context, {
    sources: sources(),
    unboundReachAll: config.enrollment === 'open',
    changed: () => changes.notify('plans'),
  })
  keepDeliveredVersions(context, { sources })
  fleet.heartbeats.contribute({ assignmentsOf: plans.assignmentsOf })
  roundResults.keepUsed(isDelivered)
  catalog.lineage.followDelivery({ usesOf, deliveredOf: plans.deliveredOf })
  events.inTransaction('unbound.adopted', (tx, { orgId }) => adoptDelivery(tx, orgId))
  fleet.erasures.contribute({
    rowsOf: deliveryRowsOf,
    assignmentsOf: (device) => plans.assignmentsOf(device),
    async beforeErasure(tx, { id, orgId }) {
      await redactReasons(tx, id)
      const planIds = new Set([...(await leaveDeployments(tx, id)), ...(await activeRolloutsOf(tx, orgId))])
      await assignments.recheck(tx, planIds)
    },
  })
  const experiments = createExperimentsService(context, { plans, models, groups })
  const observations = createObservationsService(context, {
    experiments,
    plans,
    devices,
  })
  const estimates = createEstimatesService(context, { experiments, observations })
  const assignments = createAssignmentsService(context, {
    plans,
    devices,
    measured: observations.observeReport,
  })
  const rollouts = createRolloutsService(context, {
    plans,
    assignments,
    models,
    devices,
    groups,
    settings: access.settings,
    approvals: access.approvals,
  })
  const deployments = createDeploymentsService(context, {
    plans,
    models,
    groups,
    devices,
    approvals: access.approvals,
  })
  const reportedPlans = createReportedPlans(context, { rollout: rollouts.reported, deployment: deployments.reported })
  events.afterCommit('assignments.reported', ({ planIds }) => reportedPlans.check(planIds))
  const pairings = createPairingsService(context, { devices, deployments })
  const policies = createPoliciesService(context, {
    plans,
    models,
    roundResults,
    rollouts,
    groups,
  })
  return {
    plans,
    experiments,
    observations,
    estimates,
    assignments,
    rollouts,
    deployments,
    reportedPlans,
    pairings,
    policies,
    models,
    devices,
  }
}

/** Delivers versions to devices: rollouts, deployments, experiments, policies, pairing, and the reports of devices. */
export type Delivery = ReturnType<typeof create>

export const delivery: Module<Delivery, Earlier> = {
  description: 'Assignments, rollouts, deployments, experiments, policies, and pairing',
  tables: [
    'delivery_revision',
    'plan_events',
    'plan_reports',
    'reported_plans',
    'rollouts',
    'deployments',
    'deployment_targets',
    'experiments',
    'experiment_variants',
    'experiment_observations',
    'experiment_estimates',
    'delivery_policies',
    'delivery_decisions',
    'pairings',
  ],
  create,
  routes(
    app,
    { experiments, observations, estimates, assignments, rollouts, deployments, pairings, policies, models, devices },
    { now, config },
  ) {
    assignmentsRoutes(app, assignments, devices)
    rolloutsRoutes(app, rollouts, assignments, models)
    deploymentsRoutes(app, deployments)
    experimentsRoutes(app, experiments, observations, estimates)
    pairingsRoutes(app, pairings, { now, publicUrl: config.publicUrl })
    policiesRoutes(app, policies, models)
  },
  tasks: (_context, { rollouts, deployments, reportedPlans, policies, plans, estimates }) => [
    // Separate tasks: while one waits for a lock, the others continue, and none runs twice at once.
    { name: 'rollouts', everyMs: 1000, run: rollouts.tick },
    {
      name: 'rollout-times',
      everyMs: HOUR_MS,
      run: () => runEach(...[rollouts, deployments, policies, estimates].map(({ resetTimesAhead }) => resetTimesAhead)),
    },
    { name: 'deployments', everyMs: 1000, run: deployments.tick },
    { name: 'reported-plans', everyMs: 1000, run: reportedPlans.tick },
    { name: 'policies', everyMs: 5000, run: policies.tick },
    { name: 'estimates', everyMs: 5000, run: estimates.tick },
    { name: 'plans', everyMs: 500, run: plans.refresh },
  ],
}
