import { useSession } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'

/** About how many devices an experiment gives its variants to: those of its groups, or all; null until it is known. */
export const useReach = (groupIds: readonly string[]): number | null => {
  const session = useSession()
  const fleet = useApi('/api/v1/fleet/summary', {}, { enabled: groupIds.length === 0 })
  const groups = useApi(
    '/api/v1/device-groups',
    { query: { org_id: session.data?.org_id ?? 'default', limit: 1000 } },
    { enabled: groupIds.length > 0 },
  )
  if (groupIds.length === 0) return fleet.data?.total ?? null
  const found = groups.data?.groups.filter(({ id }) => groupIds.includes(id))
  return found === undefined ? null : found.reduce((sum, { device_count }) => sum + device_count, 0)
}
