import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../../domain/access.ts'
import {
  forbiddenIn,
  needsSecondAdmin,
  type OrgSettings,
  PRESETS,
  type SettingName,
} from '../../../domain/compliance.ts'
import { conflict } from '../../../domain/errors.ts'
import type { Context } from '../../context.ts'
import type { Approvals } from '../approvals/approvals.service.ts'
import type { StoredOrg } from '../orgs/orgs.service.ts'
import type { SettingsService } from '../settings/settings.service.ts'

type Change = Partial<OrgSettings>

interface Payload {
  readonly orgId: string
  readonly change: Change
  /** The values that the settings to change had when the change was requested. */
  readonly before: Change
}

/** Returns the name of a setting in the API. */
export const wireName = (name: SettingName): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const only = (settings: OrgSettings, change: Change): Change =>
  Object.fromEntries(Object.keys(change).map((name) => [name, settings[name as SettingName]]))

const described = (change: Change, before: Change): string =>
  Object.entries(change)
    .map(([field, value]) => {
      const name = field as SettingName
      return `${wireName(name)} from ${JSON.stringify(before[name])} to ${JSON.stringify(value)}`
    })
    .join(', ')

/** Changes the rules of an organization: its preset forbids some changes, and others wait for a second admin. */
export const createSettingsChanges = (
  { database }: Context,
  {
    settings,
    approvals,
  }: {
    readonly settings: SettingsService
    readonly approvals: Approvals
  },
) => {
  approvals.handle<Payload>('settings_change', {
    carryOut: (_requester, { orgId, change, before }, settle) =>
      database.transaction(async (tx) => {
        await settle(tx)
        const current = await settings.lock(tx, orgId)
        if (!isDeepStrictEqual(only(current, change), before))
          throw conflict('The settings have changed since the request.')
        await settings.set(tx, orgId, current, change)
      }),
  })

  return {
    /**
     * Changes the given settings, or requests an approval and returns its id.
     * @throws conflict for what the preset does not allow, and for turning on approvals if no one could approve
     */
    async change(
      caller: Caller,
      { id: orgId, compliance }: StoredOrg,
      change: Change,
    ): Promise<{ settings: OrgSettings; approvalId: string | null }> {
      const fixed = forbiddenIn(change, compliance)
      if (fixed !== null) {
        const least = JSON.stringify(PRESETS[compliance!][fixed])
        throw conflict(
          `${wireName(fixed)}: the ${compliance} preset requires ${least}, and nothing less strict is allowed.`,
        )
      }
      const [lacking] = change.requireApproval === true ? await approvals.warningsOf(orgId) : []
      return database.transaction(async (tx) => {
        const before = await settings.lock(tx, orgId)
        if (!before.requireApproval && lacking !== undefined) throw conflict(`require_approval: ${lacking}`)
        if (!needsSecondAdmin(before, { ...before, ...change }))
          return { settings: await settings.set(tx, orgId, before, change), approvalId: null }
        const payload: Payload = { orgId, change, before: only(before, change) }
        const title = `Set ${described(change, payload.before)}`
        const wanted = { orgId, kind: 'settings_change', subject: orgId, title, payload: { ...payload } } as const
        const { id } = await approvals.request(tx, caller, wanted)
        return { settings: before, approvalId: id }
      })
    },
  }
}

export type SettingsChanges = ReturnType<typeof createSettingsChanges>
