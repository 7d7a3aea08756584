import { createMailer } from '../../platform/mail.ts'
import { createSigner } from '../../platform/secrets.ts'
import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { forEach } from '../periodic-tasks.ts'
import { approvalsRoutes } from './approvals/approvals.routes.ts'
import { createApprovals } from './approvals/approvals.service.ts'
import { presentEntry } from './audit/audit.present.ts'
import { auditRoutes } from './audit/audit.routes.ts'
import { createAudit } from './audit/audit.service.ts'
import { type AuditChains, createAuditChains } from './audit/chains.service.ts'
import { createKeyFiles } from './key-files/key-files.service.ts'
import { keysRoutes } from './keys/keys.routes.ts'
import { createKeysService } from './keys/keys.service.ts'
import { keysStore } from './keys/keys.store.ts'
import { deviceLoginsRoutes } from './login/device-logins.routes.ts'
import { createDeviceLoginsService } from './login/device-logins.service.ts'
import { loginRoutes } from './login/login.routes.ts'
import { createLoginService } from './login/login.service.ts'
import { orgsRoutes } from './orgs/orgs.routes.ts'
import { createOrgsService } from './orgs/orgs.service.ts'
import { invitationsRoutes } from './people/invitations.routes.ts'
import { nameErasureRoutes } from './people/name-erasure.routes.ts'
import { createNameErasure } from './people/name-erasure.service.ts'
import { createPeopleService } from './people/people.service.ts'
import { signInPolicyRoutes } from './people/sign-in-policy.routes.ts'
import { teamRoutes } from './people/team.routes.ts'
import { rateLimitsStore } from './rate-limits/rate-limits.store.ts'
import { createSessionPresenter } from './sessions/session-view.service.ts'
import { sessionsRoutes } from './sessions/sessions.routes.ts'
import { createSessionsService } from './sessions/sessions.service.ts'
import { createSettingsService, type SettingsService } from './settings/settings.service.ts'
import { orgSettingsRoutes } from './settings-changes/settings-changes.routes.ts'
import { createSettingsChanges } from './settings-changes/settings-changes.service.ts'
import { accountRoutes, factorRoutes } from './sign-in/account.routes.ts'
import { createAccountService } from './sign-in/account.service.ts'
import { createIdentityProvider } from './sign-in/identity-provider.ts'
import { oidcRoutes } from './sign-in/oidc.routes.ts'
import { createOidc } from './sign-in/oidc.service.ts'
import { passkeySignInRoutes, passkeysRoutes } from './sign-in/passkeys.routes.ts'
import { createPasskeys } from './sign-in/passkeys.service.ts'
import { signInRoutes } from './sign-in/sign-in.routes.ts'
import { createSignIn } from './sign-in/sign-in.service.ts'
import { createSteps } from './sign-in/steps.service.ts'
import { createThrottle } from './sign-in/throttle.service.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const create = (context: Context) => {
  const { config, events } = context
  const settings = createSettingsService(context)
  const keys = createKeysService(context, { settings })
  const login = createLoginService(context, { keys })
  const deviceLogins = createDeviceLoginsService(context, { keys })
  const orgs = createOrgsService(context, { settings })
  const sessions = createSessionsService(context, {
    keys,
    endLogins: async (tx, sessionId) => {
      await login.endOf(tx, sessionId)
      await deviceLogins.endOf(tx, sessionId)
    },
  })
  const signer = createSigner(config.dataDir)
  const throttle = createThrottle(context, { signer })
  const people = createPeopleService(context, {
    mailer: createMailer(config.smtp),
    endAccess: keys.revokeOfPerson,
    forget: keys.forgetPerson,
    countPassword: throttle.countPassword,
  })
  const approvals = createApprovals(context, { settings, people, keys })
  const settingsChanges = createSettingsChanges(context, { settings, approvals })
  const keyFiles = createKeyFiles(context, config)
  const steps = createSteps(context)
  const signIn = createSignIn(context, { sessions, steps, throttle })
  const account = createAccountService(context, { sessions, steps, throttle, endKeys: keys.revokeOfPerson })
  const passkeys = createPasskeys(context, { account, sessions, signIn, steps })
  const provider = config.oidc === null ? null : createIdentityProvider(config.oidc)
  const oidc = createOidc(context, { provider, people, sessions, signIn, steps })
  const audit = createAudit(context, { signer })
  const eraseNames = createNameErasure(context, { audit })
  const auditChains = createAuditChains(context, { signer, audit, dataDir: config.dataDir })
  events.inTransaction('unbound.adopted', (tx, { orgId }) => keysStore.adopt(tx, orgId))
  return {
    approvals,
    eraseNames,
    settingsChanges,
    audit,
    signer,
    presentEntry,
    auditChains,
    deviceLogins,
    keyFiles,
    keys,
    login,
    orgs,
    people,
    settings,
    sessions,
    signIn,
    account,
    oidc,
    passkeys,
    steps,
    throttle,
    rateLimits: rateLimitsStore,
  }
}

/** Deletes entries of the audit log that are older than their organization's retention. */
const pruneAudit = async (chains: AuditChains, settings: SettingsService, now: Date): Promise<void> => {
  await forEach(await settings.all(), async ([orgId, { auditRetentionDays: days }]) => {
    if (days !== null) await chains.prune(orgId, new Date(now.getTime() - days * DAY_MS))
  })
}

/** Organizations, people, keys, sign-in, the audit log, and rate limits. */
export type Access = ReturnType<typeof create>

export const access: Module<Access, object> = {
  description: 'Organizations, people, API keys, sign-in, and sessions',
  tables: [
    'orgs',
    'org_settings',
    'people',
    'invitations',
    'recovery_codes',
    'passkeys',
    'sign_in_steps',
    'keys',
    'login_codes',
    'device_logins',
    'sessions',
    'rate_counts',
    'audit_entries',
    'audit_heads',
    'audit_names',
    'approvals',
    'key_fingerprints',
  ],
  create,
  routes(app, services, { config, now }) {
    const { keys, login, orgs, people, settings, sessions, account, passkeys } = services
    const { enrollment } = config
    const hasInference = config.inferenceUrl !== null
    const identityProvider = config.oidc === null ? null : new URL(config.oidc.issuer).host
    const present = createSessionPresenter({ sessions, keys, enrollment, hasInference, identityProvider })
    auditRoutes(app, services.audit, services.auditChains)
    keysRoutes(app, { keys, orgs, now })
    orgsRoutes(app, orgs)
    orgSettingsRoutes(app, orgs, { settings, changes: services.settingsChanges, approvals: services.approvals, keys })
    approvalsRoutes(app, services.approvals)
    teamRoutes(app, { people, orgs, publicUrl: config.publicUrl, now })
    nameErasureRoutes(app, services.eraseNames)
    signInPolicyRoutes(app, settings)
    invitationsRoutes(app, people)
    sessionsRoutes(app, { sessions, login, present })
    accountRoutes(app, account)
    factorRoutes(app, account)
    passkeysRoutes(app, { passkeys, publicUrl: config.publicUrl })
    passkeySignInRoutes(app, { passkeys, present, publicUrl: config.publicUrl })
    signInRoutes(app, { signIn: services.signIn, sessions, login, present, passkeys, publicUrl: config.publicUrl })
    oidcRoutes(app, { oidc: services.oidc, present, publicUrl: config.publicUrl })
    loginRoutes(app, login, enrollment)
    deviceLoginsRoutes(app, {
      deviceLogins: services.deviceLogins,
      needsKey: enrollment === 'token',
      publicUrl: config.publicUrl,
      guesses: services.throttle,
    })
  },
  tasks: (
    { database, now },
    { approvals, auditChains, deviceLogins, settings, keys, people, rateLimits, sessions, steps },
  ) => [
    { name: 'approvals', everyMs: 60_000, run: approvals.expire },
    { name: 'decided-approvals', everyMs: HOUR_MS, run: approvals.deleteDecided },
    { name: 'audit-heads', everyMs: HOUR_MS, run: auditChains.exportHeads },
    { name: 'audit-retention', everyMs: HOUR_MS, run: () => pruneAudit(auditChains, settings, now()) },
    { name: 'key-uses', everyMs: 30_000, run: keys.flushUses },
    { name: 'rate-limits', everyMs: HOUR_MS, run: () => rateLimits.forgetOld(database.sql, now()) },
    { name: 'device-logins', everyMs: HOUR_MS, run: deviceLogins.deleteExpired },
    { name: 'sign-in-steps', everyMs: HOUR_MS, run: steps.deleteExpired },
    { name: 'sessions', everyMs: HOUR_MS, run: sessions.deleteEnded },
    { name: 'invitations', everyMs: HOUR_MS, run: people.deleteEnded },
  ],
}
