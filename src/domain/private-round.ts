import { type Caller, holds, sees } from './access.ts'
import { forbidden } from './errors.ts'

/** The parts of a private round that determine when it ends. */
export interface PrivateProgress {
  readonly minDevices: number
  readonly takingPart: number
  readonly completedDevices: number
  /** Fixed when the round starts. */
  readonly closesAt: Date
}

/**
 * Returns what an active private round must do at `now`. It closes when all devices have reported, otherwise at a time fixed at
 * its start: if an update could bring the end forward, one device's update could exclude another's, and the sum would change by
 * more than the clip norm.
 */
export const privateDueEvent = (round: PrivateProgress, now: Date): 'collect' | 'time_out' | null => {
  if (round.completedDevices < round.takingPart && now.getTime() < round.closesAt.getTime()) return null
  return round.completedDevices >= round.minDevices ? 'collect' : 'time_out'
}

/**
 * A private round's noise must also hide who took part, and with what, even from the other members of a federation.
 * @throws forbidden
 */
export const requireMayInspect = (
  caller: Caller,
  round: { readonly privacy: object | null; readonly orgId: string | null },
): void => {
  if (round.privacy === null || (holds(caller, 'admin') && sees(caller, round.orgId))) return
  throw forbidden(
    'The participants and updates of a private round can be seen only with the scope ' +
      "'admin' in the round's organization: the round's noise does not protect them. Use a key that has it.",
  )
}

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
  { privacy, plan }: { readonly privacy: object | null; readonly plan: { readonly secure?: object } },
  report: Readonly<Record<keyof typeof NAMES, unknown>>,
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
