import { type OrgSettings, PRESETS, SETTING_NAMES, violationsOf } from '../../../domain/compliance.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import type { Approvals } from '../approvals/approvals.service.ts'
import type { KeysService } from '../keys/keys.service.ts'
import { ChangeSettings, OrgParams, Settings } from '../orgs/orgs.schema.ts'
import type { OrgsService, StoredOrg } from '../orgs/orgs.service.ts'
import type { SettingsService } from '../settings/settings.service.ts'
import { type SettingsChanges, wireName } from './settings-changes.service.ts'

/** Routes for an organization's rules, which apply in addition to those of its compliance preset. */
export const orgSettingsRoutes = (
  app: App,
  orgs: OrgsService,
  parts: {
    readonly settings: SettingsService
    readonly changes: SettingsChanges
    readonly approvals: Approvals
    readonly keys: KeysService
  },
): void => {
  const presented = async (org: StoredOrg, settings: OrgSettings, approvalId: string | null) =>
    presentSettings(org, settings, {
      warnings: [
        ...(settings.requireApproval ? await parts.approvals.warningsOf(org.id) : []),
        ...(settings.keyLifetimeDays === null ? [] : await parts.keys.warningsOf(org.id)),
      ],
      approval_id: approvalId,
    })

  app.get(
    '/api/v1/orgs/:org_id/settings',
    {
      schema: {
        operationId: 'getOrgSettings',
        summary: 'Get the settings of an organization',
        description:
          'Includes the settings that are less strict than the compliance preset. A preset is not a certification.',
        params: OrgParams,
        response: { 200: Settings },
      },
      config: { access: 'any-key', deviceKeys: false, errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const org = await orgs.get(callerOf(request), request.params.org_id)
      return presented(org, await parts.settings.of(org.id), null)
    },
  )

  app.patch(
    '/api/v1/orgs/:org_id/settings',
    {
      schema: {
        operationId: 'setOrgSettings',
        summary: 'Change the settings of an organization',
        description:
          'Takes effect at once. A setting that is less strict than the compliance preset is reported as a violation; for ' +
          'audit_retention_days and require_approval it is rejected. Where require_approval is on, relaxing these two ' +
          'requires approval by a second admin.',
        params: OrgParams,
        body: ChangeSettings,
        response: { 200: Settings },
      },
      config: { access: 'admin', errors: ['not_found', 'conflict'] } satisfies RouteConfig,
    },
    async (request) => {
      const org = await orgs.get(callerOf(request), request.params.org_id)
      const given = Object.entries(request.body).filter(([, value]) => value !== undefined)
      const change = Object.fromEntries(given.map(([name, value]) => [NAMES.get(name)!, value]))
      const { settings, approvalId } = await parts.changes.change(callerOf(request), org, change)
      return presented(org, settings, approvalId)
    },
  )
}

const NAMES = new Map(SETTING_NAMES.map((name) => [wireName(name), name]))

const presentSettings = <More extends object>({ id, compliance }: StoredOrg, settings: OrgSettings, more: More) => ({
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
  require_approval: settings.requireApproval,
  violations: violationsOf(settings, compliance).map((name) => ({
    setting: wireName(name),
    value: settings[name],
    preset: PRESETS[compliance!][name],
  })),
  ...more,
})
