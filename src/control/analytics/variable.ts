import { badRequest } from '../../domain/errors.ts'

const OF_UPDATES = ['local_loss', 'local_accuracy', 'num_samples', 'training_time_seconds'] as const
const OF_DEVICES = ['platform', 'status', 'federation_member'] as const

/** What a query is about, and where it is reported. */
export type Variable =
  /** A column of an update: one value for each update. */
  | { readonly from: 'update'; readonly name: (typeof OF_UPDATES)[number] }
  /** What the service itself knows about a device. */
  | { readonly from: 'device'; readonly name: (typeof OF_DEVICES)[number] }
  /** A key of the metrics in a device's last heartbeat, of its capabilities, or of either, metrics first. */
  | { readonly from: 'metrics' | 'capabilities' | 'either'; readonly name: string }

const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  (words as readonly string[]).includes(text)

/** Parses `battery_level`, `metrics.battery_level`, `capabilities.memory_gb`, `local_loss`, `platform`, ... */
export const variableOf = (text: string, field: string): Variable => {
  if (isOneOf(OF_UPDATES, text)) return { from: 'update', name: text }
  if (isOneOf(OF_DEVICES, text)) return { from: 'device', name: text }
  for (const from of ['metrics', 'capabilities'] as const) {
    if (!text.startsWith(`${from}.`)) continue
    const name = text.slice(from.length + 1)
    if (name === '') throw badRequest(`${field} must name a key after '${from}.'.`)
    return { from, name }
  }
  return { from: 'either', name: text }
}
