import { useOwnOrg } from '../../api/session.ts'
import type { Federation } from './federation-records.ts'

/** This session's role in a federation. A key without an organization can act for any. */
export const useRole = ({ org_id, membership }: Federation) => {
  const own = useOwnOrg()
  return {
    own,
    isOwner: own === null || own === org_id,
    /** May see members, models, privacy, and analytics. */
    isMember: own === null || membership?.status === 'active',
    isInvited: own !== null && membership?.status === 'invited',
  }
}
