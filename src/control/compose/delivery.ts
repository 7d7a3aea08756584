import { createAssignmentsService } from '../delivery/assignments/assignments.service.ts'
import { createReportsStore } from '../delivery/assignments/reports.store.ts'
import { createDeploymentsService } from '../delivery/deployments/deployments.service.ts'
import { createTargetsStore } from '../delivery/deployments/targets.store.ts'
import { createExperimentsService } from '../delivery/experiments/experiments.service.ts'
import { createObservationsService } from '../delivery/experiments/observations.service.ts'
import { createObservationsStore } from '../delivery/experiments/observations.store.ts'
import { createPairingsService } from '../delivery/pairings/pairings.service.ts'
import { createPairingsStore } from '../delivery/pairings/pairings.store.ts'
import { createPoliciesService } from '../delivery/policies/policies.service.ts'
import { createPoliciesStore } from '../delivery/policies/policies.store.ts'
import { createRolloutsService } from '../delivery/rollouts/rollouts.service.ts'
import type { Catalogue } from './catalogue.ts'
import type { Foundation } from './foundation.ts'

/** How versions reach devices: rollouts, deployments, experiments, and what devices say of them. */
export const composeDelivery = (foundation: Foundation, catalogue: Catalogue) => {
  const { database, log, now, newId } = foundation
  const { devices, groups, models, plans, planned } = catalogue
  const experiments = createExperimentsService({
    database,
    store: planned.experiments,
    plans,
    models,
    groups,
    now,
    newId,
  })
  const observations = createObservationsService({
    database,
    store: createObservationsStore(),
    experiments,
    plans,
    devices,
    now,
  })
  const assignments = createAssignmentsService({
    database,
    store: createReportsStore(),
    plans,
    devices,
    reported: async (planIds) => {
      await rollouts.reported(planIds)
      await deployments.reported(planIds)
    },
    now,
  })
  const rollouts = createRolloutsService({
    database,
    store: planned.rollouts,
    plans,
    assignments,
    models,
    devices,
    groups,
    now,
    newId,
  })
  const deployments = createDeploymentsService({
    database,
    store: planned.deployments,
    targetStore: createTargetsStore(),
    plans,
    models,
    groups,
    now,
    newId,
  })
  const pairings = createPairingsService({ database, store: createPairingsStore(), devices, deployments, now, newId })
  const policies = createPoliciesService({
    database,
    store: createPoliciesStore(),
    plans,
    models,
    rollouts,
    groups,
    log,
    now,
    newId,
  })
  return { experiments, observations, assignments, rollouts, deployments, pairings, policies }
}

export type Delivery = ReturnType<typeof composeDelivery>
