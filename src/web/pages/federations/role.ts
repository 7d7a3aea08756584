import { useSession } from '../../api/session.ts'
import type { Federation } from './federation-records.ts'

/** What this session may do in a federation. A key of no organization acts for any. */
export interface Role {
  /** The organization of the key; null where it is of none. */
  readonly own: string | null
  readonly isOwner: boolean
  /** Sees members, models, privacy and analytics. */
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
