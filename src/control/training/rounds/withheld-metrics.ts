import type { StoredRound } from './rounds.service.ts'
import type { UpdateReport } from './update-acceptance.service.ts'

const NAMES = {
  localLoss: 'local_loss',
  localAccuracy: 'local_accuracy',
  metrics: 'metrics',
  evaluation: 'evaluation',
} as const
const LIST = new Intl.ListFormat('en', { type: 'conjunction' })
const IN_PRIVATE = ['metrics', 'evaluation'] as const
const IN_SECURE = ['localLoss', 'localAccuracy', 'metrics', 'evaluation'] as const

/** Single devices' figures that this round does not store, as null, with a warning; empty if there are none. */
export const withheldOf = (
  { privacy, plan }: StoredRound,
  report: UpdateReport,
): { readonly figures: Partial<Record<keyof typeof NAMES, null>>; readonly warning: string | null } => {
  const all = privacy !== null ? IN_PRIVATE : plan.secure !== undefined ? IN_SECURE : []
  const sent = all.filter((name) => report[name] !== null)
  if (sent.length === 0) return { figures: {}, warning: null }
  const why =
    privacy !== null
      ? 'the round is private, and its noise does not cover them'
      : 'a secure round reveals only the sum of loss and accuracy'
  const which = LIST.format(sent.map((name) => NAMES[name]))
  return { figures: Object.fromEntries(sent.map((name) => [name, null])), warning: `${which} not kept: ${why}` }
}
