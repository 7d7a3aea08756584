import { type Caller, sees } from '../../../domain/access.ts'
import { badRequest, conflict, forbidden, notFound } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { lockSession } from '../login/approval.service.ts'
import { isRecent, requiresMfa } from '../sessions/session-limits.service.ts'
import type { OpenedSession } from '../sessions/session-opening.service.ts'
import type { PersonalSession, SessionsService } from '../sessions/sessions.service.ts'
import { type Account, accountsStore } from './accounts.store.ts'
import { createPasswordChange, type EndKeys, type Own } from './password-change.service.ts'
import {
  newRecoveryCodes,
  newTotpSecret,
  openTotp,
  recoveryHashOf,
  sealTotp,
  totpStepOf,
  totpUri,
} from './second-factors.ts'
import type { Steps } from './steps.service.ts'
import type { Throttle } from './throttle.service.ts'

/** How long after proving their identity a person may change factors; later, they must confirm it first. */
const RECENT_MS = 10 * 60 * 1000
const ISSUER = 'Tributary'
const CONFIRM =
  'Confirm your identity first (POST /session/confirm), with your password, a passkey, or the identity provider.'
const ONE_FACTOR =
  'This session was opened without your second factor. Sign out, and sign in with it; a passkey can also confirm your identity here.'

/** Audits a change of an account, without secrets. */
const note = ({ id, orgId, email }: Account, before: object | null, after: object | null): void =>
  auditNote({ kind: 'person', id, orgId, name: email, before, after })

/** Lets people change how they sign in. Only their browser may do this: no key, not even their own. */
export const createAccountService = (
  context: Context,
  parts: {
    readonly sessions: SessionsService
    readonly steps: Pick<Steps, 'endOf' | 'replaceOf' | 'takeOf'>
    readonly throttle: Throttle
    readonly endKeys: EndKeys
  },
) => {
  const { database, secrets, now } = context
  const { sessions, steps, throttle } = parts

  /** @throws forbidden for callers that are not signed in as a person */
  const own = async (caller: Caller): Promise<Own> => {
    const session = await sessions.ofPerson(caller)
    const account = session && (await accountsStore.find(database.sql, session.person.id))
    if (account === null)
      throw forbidden('This is for people who are signed in with a browser; an API key has no account.')
    return { session, account } as Own
  }

  /** Whether the session was opened with one factor although they have two, such as by their own key. */
  const isWeak = ({ session, account }: Own): boolean => !session.mfa && (account.totp || account.passkeys > 0)

  /** True if they proved their identity too long ago, or with one factor although they have two. */
  const mustConfirm = (caller: Caller, found: Own): boolean => {
    const { authenticatedAt } = found.session
    const isProven = authenticatedAt !== null && isRecent(authenticatedAt, now(), RECENT_MS)
    return caller.restriction === 'confirm' || !isProven || isWeak(found)
  }

  const recent = async (caller: Caller): Promise<Own> => {
    const found = await own(caller)
    if (!mustConfirm(caller, found)) return found
    throw forbidden(isWeak(found) ? ONE_FACTOR : CONFIRM)
  }

  const makeRecoveryCodes = async (tx: Executor, id: string): Promise<string[]> => {
    const codes = newRecoveryCodes()
    // Of concurrent requests, only the last one's codes count.
    await accountsStore.lock(tx, id)
    await accountsStore.setRecoveryCodes(tx, id, codes.map(recoveryHashOf))
    return codes
  }

  /** Deletes the recovery codes with the last second factor. @throws conflict if the organization requires one */
  const afterRemoval = async (tx: Executor, { session, account: { id } }: Own): Promise<void> => {
    const { totp, passkeys } = (await accountsStore.lock(tx, id))!
    if (totp || passkeys > 0) return
    if (requiresMfa(session.person)) {
      throw conflict('Your organization requires a second factor, and this is your last. Set up another one first.')
    }
    await accountsStore.setRecoveryCodes(tx, id, [])
  }

  return {
    own,
    makeRecoveryCodes,
    mustConfirm,
    afterRemoval,
    /** The account of a session whose person has recently proved their identity. @throws forbidden */
    recent,

    ...createPasswordChange(context, { ...parts, own, note }),

    /** Begins to set up an authenticator app. It replaces the one that is set up, if any, once its code was shown. */
    async beginTotp(caller: Caller): Promise<{ secret: string; uri: string }> {
      const { account } = await recent(caller)
      const secret = newTotpSecret()
      const sealed = await sealTotp(secrets, account.id, secret)
      await database.transaction(async (tx) => {
        await steps.replaceOf(tx, 'totp-enroll', account.id, { sealed })
        note(account, null, { authenticator: 'begun' })
      })
      return { secret, uri: totpUri(secret, { email: account.email, issuer: `${ISSUER} (${account.orgId})` }) }
    },

    /** Ends the person's other sessions, which one factor opened. The first second factor comes with recovery codes. */
    async confirmTotp(caller: Caller, code: string): Promise<{ opened: OpenedSession; recoveryCodes: string[] }> {
      const { account: person, session } = await recent(caller)
      const counted = await throttle.attemptIn(session.id)
      return database.transaction(async (tx) => {
        const account = (await accountsStore.lock(tx, person.id)) ?? person
        const waiting = await steps.takeOf(tx, 'totp-enroll', account.id)
        const sealed = String(waiting?.data.sealed)
        const secret = waiting && (await openTotp(secrets, account.id, sealed))
        if (secret === null) {
          throw conflict('No authenticator app is waiting for confirmation. Begin with POST /account/totp.')
        }
        const step = await totpStepOf(code, { secret, after: null, now: now() })
        if (step === null) {
          throw badRequest('code: it does not match the one that the app shows now. Check the clock of the phone.')
        }
        await throttle.forget(tx, counted)
        await accountsStore.setTotp(tx, account.id, { sealed, step, now: now() })
        const recoveryCodes = account.recoveryCodesLeft > 0 ? [] : await makeRecoveryCodes(tx, account.id)
        const [before, after] = account.totp ? ['set up', 'replaced'] : [null, 'set up']
        note(account, { authenticator: before }, { authenticator: after })
        return { opened: await sessions.renewAlone(tx, session, { mfa: true }), recoveryCodes }
      })
    },

    async removeTotp(caller: Caller): Promise<void> {
      const found = await recent(caller)
      const { account } = found
      await database.transaction(async (tx) => {
        const isSetUp = (await accountsStore.lock(tx, account.id))?.totp
        await lockSession(tx, caller)
        if (!isSetUp) throw conflict('No authenticator app is set up.')
        await accountsStore.removeTotp(tx, account.id)
        await afterRemoval(tx, found)
        note(account, { authenticator: 'set up' }, { authenticator: null })
      })
    },

    /** Replaces all recovery codes with ten new ones. @throws conflict for a person without a second factor */
    async renewRecoveryCodes(caller: Caller): Promise<string[]> {
      const { id } = (await recent(caller)).account
      return database.transaction(async (tx) => {
        const account = await accountsStore.lock(tx, id)
        await lockSession(tx, caller)
        if (account === null || (!account.totp && account.passkeys === 0)) {
          throw conflict('Set up a second factor first: recovery codes are a backup for it.')
        }
        const codes = await makeRecoveryCodes(tx, id)
        note(account, { recoveryCodesLeft: account.recoveryCodesLeft }, { recoveryCodesLeft: codes.length })
        return codes
      })
    },

    /** Removes all factors but the password for a member who has lost them (admins only); the member's sessions end. */
    async resetFactors(caller: Caller, id: string): Promise<void> {
      if (id === caller.personId) throw forbidden('Change your own second factors in your account.')
      await database.transaction(async (tx) => {
        const account = isUuid(id) ? await accountsStore.find(tx, id) : null
        if (account === null || !sees(caller, account.orgId)) throw notFound('Member', id)
        await accountsStore.removeFactors(tx, id)
        await sessions.endOf(tx, id)
        const { totp: authenticator, passkeys, oidcIdentity } = account
        note(
          account,
          { authenticator, passkeys, identityProvider: oidcIdentity !== null },
          { authenticator: false, passkeys: 0, identityProvider: false, sessions: 'ended' },
        )
      })
    },

    listSessions: async (caller: Caller): Promise<PersonalSession[]> => {
      const { account } = await own(caller)
      return sessions.listOwn({ ...caller, personId: account.id })
    },

    async revokeSession(caller: Caller, id: string): Promise<void> {
      const { account } = await own(caller)
      await sessions.revokeOwn({ ...caller, personId: account.id }, id)
    },
  }
}

export type AccountService = ReturnType<typeof createAccountService>
