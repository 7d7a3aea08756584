import type { StoredExperiment } from './experiments.service.ts'

/** An experiment in the wire's names. */
export const present = (experiment: StoredExperiment) => ({
  id: experiment.id,
  org_id: experiment.orgId,
  name: experiment.name,
  status: experiment.status,
  variants: experiment.variants.map(({ name, modelId, version, allocation }) => ({
    name,
    model_id: modelId,
    version,
    allocation,
  })),
  target_groups: [...experiment.targetGroups],
  primary_metric: experiment.primaryMetric,
  confidence_level: experiment.confidenceLevel,
  reason: experiment.reason,
  created_at: experiment.createdAt.toISOString(),
  started_at: experiment.startedAt?.toISOString() ?? null,
  ended_at: experiment.endedAt?.toISOString() ?? null,
})
