import type { Roster } from '../secure-aggregation/messages.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import type { SecureSettings } from '../secure-aggregation/settings.ts'

/** A secure round's state, as seen by this device. */
export interface SecureState {
  readonly status: SecureStatus
  readonly reason: string | null
  readonly settings: SecureSettings
  /** This device's name in the protocol. */
  readonly device: string | null
  /** Whether the current step waits for this device, and whether it has answered. */
  readonly counted: boolean
  readonly answered: boolean
  /** Each is set only in the step that needs it. */
  readonly roster: Roster | null
  readonly shares: Readonly<Record<string, string>> | null
  readonly delivered: readonly string[] | null
}
