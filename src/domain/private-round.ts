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
