import type { Roster } from '../secure-aggregation/messages.ts'
import type { SecureStatus } from '../secure-aggregation/server-round.ts'
import type { SecureSettings } from '../secure-aggregation/settings.ts'

/** Where a secure round stands, as the service tells this device. */
export interface SecureState {
  readonly status: SecureStatus
  readonly reason: string | null
  readonly settings: SecureSettings
  /** This device's name in the protocol. */
  readonly device: string | null
  /** Whether the present step waits for this device, and whether it has been heard in it. */
  readonly counted: boolean
  readonly answered: boolean
  /** Each only in the step that needs it. */
  readonly roster: Roster | null
  readonly shares: Readonly<Record<string, string>> | null
  readonly delivered: readonly string[] | null
}
