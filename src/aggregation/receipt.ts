import { KERNEL } from './kernel.ts'

export interface ReceiptUpdate {
  /** The user-chosen device id, by which updates are ordered. */
  readonly device_id: string
  readonly update_id: string
  readonly sha256: string
  readonly num_samples: number
  readonly weight: number
}

/** What a round was made of: with the files named here, anyone can compute the same output bytes again. */
export interface Receipt {
  readonly strategy: string
  readonly kernel: { readonly name: string; readonly version: string }
  readonly order: 'device_id'
  readonly global_model_sha256: string | null
  readonly updates: readonly ReceiptUpdate[]
  readonly output_sha256: string
}

export interface ReceiptParts {
  readonly strategy: string
  readonly globalModelSha256: string | null
  readonly updates: readonly {
    readonly deviceId: string
    readonly updateId: string
    readonly sha256: string
    readonly numSamples: number
  }[]
  /** As `aggregate` returned them: one weight per device id. */
  readonly weights: readonly { readonly id: string; readonly weight: number }[]
  readonly outputSha256: string
}

/** The receipt of one aggregation, in the order of device ids. Throws when a device has no weight. */
export const buildReceipt = (parts: ReceiptParts): Receipt => {
  const weightOf = new Map(parts.weights.map(({ id, weight }) => [id, weight]))
  const updates = [...parts.updates]
    .sort((a, b) => compareIds(a.deviceId, b.deviceId))
    .map((update) => {
      const weight = weightOf.get(update.deviceId)
      if (weight === undefined) throw new Error(`The aggregation gave device '${update.deviceId}' no weight.`)
      return {
        device_id: update.deviceId,
        update_id: update.updateId,
        sha256: update.sha256,
        num_samples: update.numSamples,
        weight,
      }
    })
  return {
    strategy: parts.strategy,
    kernel: { ...KERNEL },
    order: 'device_id',
    global_model_sha256: parts.globalModelSha256,
    updates,
    output_sha256: parts.outputSha256,
  }
}

/** By UTF-16 code units: the same order on every machine and in every locale. */
export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
