import { LARGEST_REPORTED, reportedNumber } from '../../../domain/reported-number.ts'
import { parseFields } from '../../../platform/http/validation.ts'
import { MAX_TRAINING_SECONDS, UpdateFields } from './rounds.schema.ts'
import type { UpdateReport } from './updates.service.ts'

/** Figures beside an update that must not cost the device its work: out of range they are null. */
const KEPT = {
  local_loss: { from: -LARGEST_REPORTED, to: LARGEST_REPORTED },
  // Negative ones are refused by the schema.
  training_time_seconds: { from: Number.NEGATIVE_INFINITY, to: MAX_TRAINING_SECONDS },
} as const

const INFINITE = /^([+-]?)inf(inity)?$/i

/** The number that text is; NaN where it is none, which the schema refuses by name. */
const numberIn = (text: string): number => {
  const infinite = INFINITE.exec(text)
  if (infinite === null) return Number(text)
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** What a device says of its training, and of which figures one sentence each tells that they became null. */
export const readReport = (
  fields: Readonly<Record<string, string>>,
): { readonly report: UpdateReport; readonly warnings: readonly string[] } => {
  const taken = { ...fields }
  const warnings: string[] = []
  for (const [name, { from, to }] of Object.entries(KEPT)) {
    const text = taken[name]
    const value = text === undefined ? 0 : numberIn(text)
    if (!(value < from || value > to)) continue
    delete taken[name]
    warnings.push(`${name} became null: it is ${value < from ? `below ${from}` : `above ${to}`}`)
  }
  const { num_samples, local_loss, local_accuracy, training_time_seconds } = parseFields(UpdateFields, taken)
  const report = {
    numSamples: num_samples,
    localLoss: local_loss === undefined ? null : reportedNumber(local_loss),
    localAccuracy: local_accuracy === undefined ? null : reportedNumber(local_accuracy),
    trainingTimeSeconds: training_time_seconds ?? null,
  }
  return { report, warnings }
}
