import { useApi, useApiAll } from '../../api/use-api.ts'
import type { Federation } from './federation-records.ts'
import { useRole } from './role.ts'

const MAX_MEMBERS = 20

export interface GroupNames {
  readonly members: readonly string[]
  /** The device groups that this key may see: its own organization's or the members'. */
  readonly groups: ReadonlyMap<string, string>
}

/** Returns the names of a federation's groups. */
export const useGroupNames = (federation: Federation): GroupNames => {
  const { own } = useRole(federation)
  const found = useApi('/api/v1/federations/{federation_id}/members', {
    path: { federation_id: federation.id },
    query: { limit: 1000 },
  })
  const members = (found.data?.members ?? []).filter(({ status }) => status === 'active').map(({ org_id }) => org_id)
  const responses = useApiAll(
    '/api/v1/device-groups',
    (own === null ? members.slice(0, MAX_MEMBERS) : [own]).map((org_id) => ({ query: { org_id, limit: 1000 } })),
  )
  const several = responses.length > 1
  const groups = responses.flatMap(({ data }) =>
    (data?.groups ?? []).map(({ id, name, org_id }) => [id, several ? `${name} of ${org_id}` : name] as const),
  )
  return { members, groups: new Map(groups) }
}
