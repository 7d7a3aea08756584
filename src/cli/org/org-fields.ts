import type { OrgConfig } from '../home.ts'

export const orgFields = (config: OrgConfig): readonly (readonly [string, string | null])[] => [
  ['Organization', config.orgName],
  ['Id', config.orgId],
  ['Compliance', config.compliance],
  ['Region', config.region],
  ['Service', config.apiBase],
]
