import type { Goal } from '../../../domain/metric-goal.ts'
import type { Publish, StopRule } from '../../../domain/training-job.ts'
import type { SecureSettingsRequest } from '../secure-rounds/secure-steps.service.ts'

/** A requested job. */
export interface NewJob {
  readonly model: string
  readonly name: string | undefined
  readonly orgId: string | undefined
  readonly strategy: string | undefined
  readonly strategyOptions: Readonly<Record<string, unknown>> | undefined
  readonly rounds: number | undefined
  readonly minDevices: number | undefined
  readonly targetDevices: number | undefined
  readonly overSelection: number | undefined
  readonly timeoutSeconds: number | undefined
  readonly reportWindowSeconds: number | undefined
  readonly evaluationSeconds: number | undefined
  readonly waitForDevicesSeconds: number | undefined
  readonly group: string | undefined
  readonly federation: string | undefined
  readonly hyperparameters: Readonly<Record<string, unknown>> | undefined
  readonly privacy:
    | {
        readonly noiseMultiplier: number | undefined
        readonly targetEpsilon: number | undefined
        readonly targetDelta: number | undefined
        readonly clipNorm: number
        readonly adaptiveClip: boolean
      }
    | undefined
  readonly secureAggregation: SecureSettingsRequest | null
  readonly stopWhen: StopRule | undefined
  readonly metric: string | undefined
  readonly goal: Goal | undefined
  readonly publish: Publish | undefined
  readonly rawVector: boolean
}
