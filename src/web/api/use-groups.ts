import { useSession } from './session.ts'
import { useApi } from './use-api.ts'

const EVERY = ['', 'Every device'] as const

/** The groups to choose from, with how many devices each has. A key of no organization sees those of `default`. */
export const useGroupOptions = (): readonly (readonly [id: string, label: string])[] => {
  const session = useSession()
  const query = useApi('/api/v1/device-groups', {
    query: { org_id: session.data?.org_id ?? 'default', limit: 1000 },
  })
  return [
    EVERY,
    ...(query.data?.groups ?? []).map((group) => [group.id, `${group.name} (${group.device_count})`] as const),
  ]
}
