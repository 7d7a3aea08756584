import { type Caller, holds } from '../../../domain/access.ts'
import { type DeviceState, withdrawnState } from '../../../domain/delivery-plan.ts'
import { type DeploymentStatus, isWithdrawn } from '../../../domain/deployment.ts'
import type { Platform } from '../../../domain/device.ts'
import type { DeploymentsService, StoredDeployment, TargetDevice, TargetSelector } from './deployments.service.ts'

/** Returns the selector in a request's body. */
export const targetSelectorOf = (body: {
  readonly model_name: string
  readonly model_version: string
  readonly devices?: readonly string[]
  readonly group?: string
  readonly platform?: Platform
}): TargetSelector => ({
  modelName: body.model_name,
  modelVersion: body.model_version,
  devices: body.devices,
  group: body.group,
  platform: body.platform,
})

/** Returns a deployment with the API's field names. */
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

const stateOf = (
  { activated, report }: TargetDevice,
  status: DeploymentStatus,
): DeviceState | 'waiting' | 'assigned' => {
  if (!activated) return 'waiting'
  if (isWithdrawn(status)) return report === null ? 'withdrawn' : withdrawnState(report.state)
  return report?.state ?? 'assigned'
}

export const presentTarget = (device: TargetDevice, { status }: Pick<StoredDeployment, 'status'>) => ({
  device_id: device.deviceId,
  activated: device.activated,
  state: stateOf(device, status),
  version: device.report?.version ?? null,
  reason: device.report?.reason ?? null,
  reported_at: device.reportedAt?.toISOString() ?? null,
})

export const presentPrepared = (
  caller: Caller,
  { targets, warnings }: Awaited<ReturnType<DeploymentsService['prepare']>>,
) => ({
  ok: targets.length > 0,
  target_count: targets.length,
  resolved_targets: holds(caller, 'devices:read') ? targets.map(({ deviceId }) => deviceId) : [],
  warnings: [...warnings],
})

export const presentExecuted = (deployment: Awaited<ReturnType<DeploymentsService['request']>>) => ({
  deployment_id: deployment.id,
  status: deployment.status,
  target_count: deployment.targetCount,
  activated_count: deployment.activatedCount,
  ...(deployment.approvalId !== null && { approval_id: deployment.approvalId }),
  warnings: [...deployment.warnings],
})
