import type { Platform } from '../../../domain/device.ts'
import type { Aim, StoredDeployment } from './deployments.service.ts'

/** What a request's body aims at. */
export const aimOf = (body: {
  readonly model_name: string
  readonly model_version: string
  readonly devices?: readonly string[]
  readonly group?: string
  readonly platform?: Platform
}): Aim => ({
  modelName: body.model_name,
  modelVersion: body.model_version,
  devices: body.devices,
  group: body.group,
  platform: body.platform,
})

/** A deployment in the wire's names. */
export const present = (deployment: StoredDeployment) => ({
  deployment_id: deployment.id,
  org_id: deployment.orgId,
  model_name: deployment.modelName,
  model_version: deployment.modelVersion,
  model_id: deployment.modelId,
  status: deployment.status,
  strategy: deployment.strategy,
  rollout_percentage: deployment.percentage,
  target_count: deployment.targetCount,
  activated_count: deployment.activatedCount,
  reason: deployment.reason,
  switched_at: deployment.switchedAt?.toISOString() ?? null,
  deadline_at: deployment.deadlineAt?.toISOString() ?? null,
  created_at: deployment.createdAt.toISOString(),
  ended_at: deployment.endedAt?.toISOString() ?? null,
})
