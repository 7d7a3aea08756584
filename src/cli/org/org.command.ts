import type { Command } from 'commander'
import type { OrgSettings } from '../../domain/compliance.ts'
import { Failure } from '../failure.ts'
import type { OrgConfig } from '../home.ts'
import { nullIfNotFound } from '../model-sources/catalog.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { isSameService } from '../service-address.ts'
import type { Session } from '../session.ts'
import { orgFields, settingFields } from './settings.ts'

/** Returns the organization that the key is bound to; null if there is no key or it is not bound. */
const orgOfKey = async (session: Session, apiBase: string): Promise<string | null> => {
  if ((await session.apiKey(apiBase)) === null) return null
  const connection = await session.signedIn({ apiBase })
  return (await nullIfNotFound(connection.request((client) => client.GET('/api/v1/keys/self'))))?.org_id ?? null
}

/** Returns the settings from `init`. After only a login, asks the service about the key's organization. */
const settingsOf = async (session: Session, option: string | undefined): Promise<OrgConfig> => {
  const apiBase = await session.apiBase(option)
  const config = await session.home.config()
  if (config !== null && isSameService(config.apiBase, apiBase)) return config
  const orgId = await orgOfKey(session, apiBase)
  if (orgId === null) {
    throw new Failure('No organization is configured.', { advice: 'Create one with: svc init <org_name>' })
  }
  const connection = await session.signedIn({ apiBase })
  const org = await connection.request((client) =>
    client.GET('/api/v1/orgs/{org_id}', { params: { path: { org_id: orgId } } }),
  )
  const { id, name, compliance, region } = org
  return { orgId: id, orgName: name, compliance, region, apiBase: connection.baseUrl }
}

/** Returns the organization's rules; null if there is no key, or the service answers not_found. */
const rulesOf = async (session: Session, { orgId, apiBase }: OrgConfig) => {
  if ((await session.apiKey(apiBase)) === null) return null
  const connection = await session.signedIn({ apiBase })
  const path = { org_id: orgId }
  return nullIfNotFound(
    connection.request((client) => client.GET('/api/v1/orgs/{org_id}/settings', { params: { path } })),
  )
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
  command
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ json, apiBase }: DataOptions) => {
      const org = await settingsOf(session, apiBase)
      const rules = await rulesOf(session, org)
      if (!json) {
        session.out.fields([...orgFields(org), ...(rules === null ? [] : settingFields(settingsFrom(rules)))])
        for (const { setting, value, preset } of rules?.violations ?? []) {
          const option = `--${setting.replaceAll('_', '-')}`
          session.out.note(`${option} is ${value ?? 'none'}; the ${org.compliance} preset requires ${preset}.`)
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
