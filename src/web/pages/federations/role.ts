import { useSession } from '../../api/session.ts'
import type { Federation } from './federation-records.ts'

/** This session's role in a federation. A key without an organization can act for any. */
export interface Role {
  /** The key's organization; null if it has none. */
  readonly own: string | null
  readonly isOwner: boolean
  /** May see members, models, privacy, and analytics. */
  readonly isMember: boolean
  readonly isInvited: boolean
}

export const useRole = (federation: Federation): Role => {
  const session = useSession()
  const own = session.data?.org_id ?? null
  const isInvited = own !== null && federation.membership?.status === 'invited'
  return {
    own,
    isOwner: own === null || own === federation.org_id,
    isMember: own === null || federation.membership?.status === 'active',
    isInvited,
  }
}
