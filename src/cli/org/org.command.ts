import type { Command } from 'commander'
import type { OrgSettings } from '../../domain/compliance.ts'
import { Failure } from '../failure.ts'
import type { OrgConfig } from '../home.ts'
import { orNull } from '../model-sources/catalog.ts'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { orgFields, settingFields } from './settings.ts'

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

/** The organization's rules; null where this key may not see them, or the service is away. */
const rulesOf = async (session: Session, { orgId, apiBase }: OrgConfig) => {
  if ((await session.apiKey(apiBase)) === null) return null
  const connection = await session.signedIn({ apiBase })
  const path = { org_id: orgId }
  return orNull(connection.ask((client) => client.GET('/api/v1/orgs/{org_id}/settings', { params: { path } })))
}

const settingsFrom = (rules: NonNullable<Awaited<ReturnType<typeof rulesOf>>>): OrgSettings => ({
  requireMfa: rules.require_mfa,
  sessionHours: rules.session_hours,
  reauthenticateMinutes: rules.reauthenticate_minutes,
  auditRetentionDays: rules.audit_retention_days,
  keyLifetimeDays: rules.key_lifetime_days,
  updateRetentionDays: rules.update_retention_days,
  minGroupSize: rules.min_group_size,
  automaticRollback: rules.automatic_rollback,
  requireApproval: rules.require_approval,
})

export const define = (command: Command, session: Session): void => {
  command.addOption(jsonOption()).action(async ({ json }: { readonly json?: true }) => {
    const org = await settingsOf(session)
    const rules = await rulesOf(session, org)
    if (!json) {
      session.out.fields([...orgFields(org), ...(rules === null ? [] : settingFields(settingsFrom(rules)))])
      for (const { setting, value, preset } of rules?.violations ?? []) {
        session.out.note(`${setting} is ${value}: the preset of ${org.compliance} has ${preset}.`)
      }
      for (const warning of rules?.warnings ?? []) session.out.note(warning)
      return
    }
    session.out.json({
      org_id: org.orgId,
      org_name: org.orgName,
      compliance: org.compliance,
      region: org.region,
      api_base: org.apiBase,
      ...(rules !== null && { settings: rules }),
    })
  })
}
