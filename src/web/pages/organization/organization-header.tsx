import type { ReactNode } from 'react'
import { PageHeader } from '../../parts/layout.tsx'
import { Tabs } from '../../parts/tabs.tsx'

const TABS = [
  ['/organization', 'Team'],
  ['/organization/keys', 'Keys'],
  ['/organization/approvals', 'Approvals'],
  ['/organization/audit', 'Audit log'],
  ['/organization/account', 'My account'],
] as const

export const OrganizationHeader = ({ children }: { readonly children?: ReactNode }) => (
  <>
    <PageHeader title="Organization">{children}</PageHeader>
    <Tabs label="Organization" tabs={TABS} />
  </>
)
