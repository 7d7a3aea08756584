import { KERNEL } from './kernel.ts'

export interface ReceiptUpdate {
  /** The user-chosen device ID, by which updates are ordered. */
  readonly device_id: string
  /** Present if devices of several organizations in the round have the same ID. */
  readonly org_id?: string | null
  readonly update_id: string
  readonly sha256: string
  readonly num_samples: number
  /** Null if the devices keep it secret (secure aggregation with weights). */
  readonly weight: number | null
  /** SCAFFOLD: the change of the device's control variate. */
  readonly control_sha256?: string
  /** The model that training started from, if it is not the round's, and the number of models since then. */
  readonly base_model_sha256?: string
  readonly staleness?: number
}

/** The inputs of a round: with the files named here, anyone can compute the same output bytes again. */
export interface Receipt {
  readonly strategy: string
  readonly kernel: { readonly name: string; readonly version: string }
  readonly order: 'device_id'
  readonly global_model_sha256: string | null
  readonly updates: readonly ReceiptUpdate[]
  readonly output_sha256: string
  /** Further inputs and outputs of the round's strategy besides the updates. */
  readonly strategy_options?: Readonly<Record<string, unknown>>
  readonly population?: number
  /** Present if the updates are masked: the threshold and the fixed-point parameters of their sum. */
  readonly secure_aggregation?: {
    readonly devices: number
    readonly threshold: number
    readonly range: number
    readonly max_weight: number
  }
  readonly state_sha256?: string | null
  readonly next_state_sha256?: string | null
  readonly next_control_sha256?: string | null
  readonly privacy?: {
    readonly noise_multiplier: number
    readonly clip_norm: number
    readonly denominator: number
    readonly adaptive_clip: boolean
    /** The seed is secret; its hash lets anyone who is later shown the seed verify it. */
    readonly noise_seed_sha256: string
  }
}

export interface ReceiptParts {
  readonly strategy: string
  readonly globalModelSha256: string | null
  readonly updates: readonly {
    /** The ID used in the aggregation, unique in the round. */
    readonly deviceId: string
    /** The actual device, if another device in the round has the same ID in another organization. */
    readonly namesake?: { readonly deviceId: string; readonly orgId: string | null }
    readonly updateId: string
    readonly sha256: string
    readonly numSamples: number
    readonly controlSha256?: string | null
    readonly baseModelSha256?: string | null
    readonly staleness?: number | null
  }[]
  /** The result of `aggregateFiles`: one weight per device ID; null if it must not be shown. */
  readonly weights: readonly { readonly id: string; readonly weight: number | null }[]
  readonly outputSha256: string
  /** Absent in a plain round. */
  readonly beyond?: Pick<
    Receipt,
    | 'strategy_options'
    | 'population'
    | 'secure_aggregation'
    | 'state_sha256'
    | 'next_state_sha256'
    | 'next_control_sha256'
    | 'privacy'
  >
}

/** Builds the receipt of an aggregation, in the order of device IDs. Throws if a device has no weight. */
export const buildReceipt = (parts: ReceiptParts): Receipt => {
  const weightOf = new Map(parts.weights.map(({ id, weight }) => [id, weight]))
  const updates = [...parts.updates]
    .sort((a, b) => compareIds(a.deviceId, b.deviceId))
    .map((update) => {
      const weight = weightOf.get(update.deviceId)
      if (weight === undefined) throw new Error(`The aggregation returned no weight for device '${update.deviceId}'.`)
      return {
        device_id: update.namesake?.deviceId ?? update.deviceId,
        ...(update.namesake === undefined ? {} : { org_id: update.namesake.orgId }),
        update_id: update.updateId,
        sha256: update.sha256,
        num_samples: update.numSamples,
        weight,
        ...(update.controlSha256 ? { control_sha256: update.controlSha256 } : {}),
        ...(update.baseModelSha256 ? { base_model_sha256: update.baseModelSha256 } : {}),
        ...(typeof update.staleness === 'number' ? { staleness: update.staleness } : {}),
      }
    })
  return {
    strategy: parts.strategy,
    kernel: { ...KERNEL },
    order: 'device_id',
    global_model_sha256: parts.globalModelSha256,
    updates,
    output_sha256: parts.outputSha256,
    ...parts.beyond,
  }
}

/** Compares by UTF-16 code units: the same order on every machine and in every locale. */
export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
