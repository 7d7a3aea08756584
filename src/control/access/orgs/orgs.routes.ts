import { type OrgSettings, PRESETS, type SettingName, violationsOf } from '../../../domain/compliance.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { ChangeSettings, CreateOrgBody, Org, OrgParams, Settings } from './orgs.schema.ts'
import type { OrgsService, StoredOrg } from './orgs.service.ts'
import type { SettingsService } from './settings.service.ts'

export const orgsRoutes = (app: App, orgs: OrgsService): void => {
  app.post(
    '/api/v1/orgs',
    {
      schema: {
        operationId: 'createOrg',
        summary: 'Create an organization',
        description: 'Create an organization. Keys and devices can then be bound to it.',
        'x-extension': true,
        body: CreateOrgBody,
        response: { 201: Org },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, compliance, region } = request.body
      const org = await orgs.create(callerOf(request), {
        name,
        compliance: compliance ?? null,
        region: region ?? 'us',
      })
      return reply.code(201).send(present(org))
    },
  )

  app.get(
    '/api/v1/orgs/:org_id',
    {
      schema: {
        operationId: 'getOrg',
        summary: 'Get an organization',
        'x-extension': true,
        params: OrgParams,
        response: { 200: Org },
      },
      config: { access: 'any-key', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await orgs.get(callerOf(request), request.params.org_id)),
  )
}

/** The rules of an organization, beside those of its compliance preset. */
export const orgSettingsRoutes = (app: App, orgs: OrgsService, settings: SettingsService): void => {
  app.get(
    '/api/v1/orgs/:org_id/settings',
    {
      schema: {
        operationId: 'getOrgSettings',
        summary: 'Get the rules of an organization',
        description: 'With what is less strict than its compliance preset. A preset is no certificate.',
        'x-extension': true,
        params: OrgParams,
        response: { 200: Settings },
      },
      config: { access: 'any-key', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const org = await orgs.get(callerOf(request), request.params.org_id)
      return presentSettings(org, await settings.of(org.id))
    },
  )

  app.patch(
    '/api/v1/orgs/:org_id/settings',
    {
      schema: {
        operationId: 'setOrgSettings',
        summary: 'Change the rules of an organization',
        description: 'They hold at once. What is less strict than the compliance preset is shown as a violation.',
        'x-extension': true,
        params: OrgParams,
        body: ChangeSettings,
        response: { 200: Settings },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const org = await orgs.get(callerOf(request), request.params.org_id)
      const given = Object.entries(request.body).filter(([, value]) => value !== undefined)
      const change = Object.fromEntries(given.map(([name, value]) => [NAMES.get(name)!, value]))
      return presentSettings(org, await settings.change(org.id, change))
    },
  )
}

/** Settings by their names on the wire. */
const WIRE: { readonly [Name in SettingName]: string } = {
  requireMfa: 'require_mfa',
  sessionHours: 'session_hours',
  reauthenticateMinutes: 'reauthenticate_minutes',
  auditRetentionDays: 'audit_retention_days',
  keyLifetimeDays: 'key_lifetime_days',
  updateRetentionDays: 'update_retention_days',
  minGroupSize: 'min_group_size',
  automaticRollback: 'automatic_rollback',
}
const NAMES = new Map(Object.entries(WIRE).map(([name, wire]) => [wire, name]))

const presentSettings = ({ id, compliance }: StoredOrg, settings: OrgSettings) => ({
  org_id: id,
  compliance,
  require_mfa: settings.requireMfa,
  session_hours: settings.sessionHours,
  reauthenticate_minutes: settings.reauthenticateMinutes,
  audit_retention_days: settings.auditRetentionDays,
  key_lifetime_days: settings.keyLifetimeDays,
  update_retention_days: settings.updateRetentionDays,
  min_group_size: settings.minGroupSize,
  automatic_rollback: settings.automaticRollback,
  violations: violationsOf(settings, compliance).map((name) => ({
    setting: WIRE[name],
    value: settings[name],
    preset: PRESETS[compliance!][name],
  })),
})

const present = (org: StoredOrg) => ({
  id: org.id,
  name: org.name,
  compliance: org.compliance,
  region: org.region,
  created_at: org.createdAt.toISOString(),
})
