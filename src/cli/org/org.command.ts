import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import type { OrgConfig } from '../home.ts'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { orgFields } from './org-fields.ts'

/** What `init` kept; else, for somebody who only signed in, what the service says about the key's organization. */
const settingsOf = async (session: Session): Promise<OrgConfig> => {
  const config = await session.home.config()
  if (config !== null) return config
  const orgId = (await session.home.credentials(await session.apiBase(undefined)))?.orgId ?? null
  if (orgId === null) {
    throw new Failure('No organization is configured.', { advice: 'Create one with: svc init <org_name>' })
  }
  const connection = await session.signedIn({})
  const org = await connection.ask((client) =>
    client.GET('/api/v1/orgs/{org_id}', { params: { path: { org_id: orgId } } }),
  )
  const { id, name, compliance, region } = org
  return { orgId: id, orgName: name, compliance, region, apiBase: connection.baseUrl }
}

export const define = (command: Command, session: Session): void => {
  command.addOption(jsonOption()).action(async ({ json }: { readonly json?: true }) => {
    const org = await settingsOf(session)
    if (!json) return session.out.fields(orgFields(org))
    session.out.json({
      org_id: org.orgId,
      org_name: org.orgName,
      compliance: org.compliance,
      region: org.region,
      api_base: org.apiBase,
    })
  })
}
