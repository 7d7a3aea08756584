import type { Caller } from '../../../domain/access.ts'
import { badRequest, forbidden, unauthorized } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { OpenedSession } from '../sessions/session-opening.service.ts'
import type { SessionsService } from '../sessions/sessions.service.ts'
import { type Account, accountsStore } from './accounts.store.ts'
import { checkPassword, isPassword } from './passwords.service.ts'
import { openTotp, recoveryHashOf, totpStepOf } from './second-factors.ts'
import type { Steps } from './steps.service.ts'
import type { SignInStep } from './steps.store.ts'
import type { Origin, Throttle } from './throttle.service.ts'

export type { Account } from './accounts.store.ts'

/** The browser that signs in. */
export interface Browser extends Origin {
  /** Its User-Agent header. */
  readonly name: string
  /** The token of its current session, which ends. */
  readonly former: string | null
}

export type Factor = 'totp' | 'passkey' | 'recovery_code'

/** The result of a correct first factor: a session, or the second factors to choose from. */
export type Outcome =
  | { readonly kind: 'session'; readonly opened: OpenedSession; readonly known: string }
  | { readonly kind: 'step'; readonly token: string; readonly factors: readonly Factor[] }

interface FirstFactor {
  readonly browser: Browser
  /** The counters of this attempt, which no longer count it once it succeeds. */
  readonly counted?: readonly string[]
  /** When they last proved their identity: now if absent; null if unknown. */
  readonly authenticatedAt?: Date | null
}

/** The same if the account or the password is wrong, or if the password is that of several accounts of the address. */
const WRONG =
  'The email address or the password is wrong. If several organizations invited this address, name yours in org_id.'
const WRONG_CODE = 'This code is wrong, has expired, or was used before. After five attempts, sign in from the start.'
const UNREADABLE_APP =
  'The key that your authenticator app was set up with was replaced, so its codes cannot be checked. Use a recovery code, or ask an admin: svc team reset-factor <email>.'

/** An account's factors other than its password. */
const factorsOf = ({ totp, passkeys, recoveryCodesLeft }: Account): Factor[] => [
  ...(passkeys > 0 ? ['passkey' as const] : []),
  ...(totp ? ['totp' as const] : []),
  ...(recoveryCodesLeft > 0 && (totp || passkeys > 0) ? ['recovery_code' as const] : []),
]

/** Signs people in, and confirms their identity again. */
export const createSignIn = (
  { database, secrets, now }: Context,
  {
    sessions,
    steps,
    throttle,
  }: {
    readonly sessions: SessionsService
    readonly steps: Steps
    readonly throttle: Throttle
  },
) => {
  /** Opens the session of a person who has passed all factors. */
  const complete = async (
    tx: Executor,
    { id }: Pick<Account, 'id'>,
    { browser, mfa, counted = [], authenticatedAt = now() }: FirstFactor & { readonly mfa: boolean },
  ): Promise<Outcome & { readonly kind: 'session' }> => {
    await accountsStore.setSignedIn(tx, id, now())
    await throttle.takeBack(counted, tx)
    await throttle.forgetSecondFactor(tx, id, browser)
    const opened = await sessions.openFor({ id }, { browser: browser.name, mfa, authenticatedAt }, browser.former, tx)
    return { kind: 'session', opened, known: await throttle.knownBrowser(id) }
  }

  /** After a correct first factor (a password, or the identity provider), requires a second one if the account has any. */
  const afterFirstFactor = async (tx: Executor, account: Account, shown: FirstFactor): Promise<Outcome> => {
    const all = factorsOf(account)
    if (all.length === 0) return complete(tx, account, { ...shown, mfa: false })
    const hasApp = account.totpSecret !== null && (await openTotp(secrets, account.id, account.totpSecret)) !== null
    const factors = hasApp ? all : all.filter((factor) => factor !== 'totp')
    if (factors.length === 0) throw unauthorized(UNREADABLE_APP)
    const { counted = [] } = shown
    const token = await steps.begin(tx, 'second-factor', account.id, { counted })
    auditNote({ kind: 'person', id: account.id, orgId: account.orgId, name: account.email, after: { factors } })
    return { kind: 'step', token, factors }
  }

  /** Does nothing if the first factor, such as a password, has already counted this attempt. @throws rate_limited */
  const countAttempt = async ({ personId, data }: SignInStep, browser: Browser): Promise<void> => {
    if ((data.counted as readonly string[]).length > 0 || personId === null) return
    await throttle.attemptSecondFactor(personId, browser)
  }

  /** Checks a code and uses it up. */
  const isCode = async (tx: Executor, account: Account, shown: { code?: string; recoveryCode?: string }) => {
    if (shown.recoveryCode !== undefined) {
      return accountsStore.takeRecoveryCode(tx, account.id, recoveryHashOf(shown.recoveryCode), now())
    }
    if (!account.totp || account.totpSecret === null) return false
    const secret = await openTotp(secrets, account.id, account.totpSecret)
    if (secret === null) throw unauthorized(UNREADABLE_APP)
    const step = await totpStepOf(shown.code ?? '', { secret, after: account.totpStep, now: now() })
    return step !== null && accountsStore.takeTotpStep(tx, account.id, step)
  }

  return {
    complete,
    afterFirstFactor,
    knownBrowser: throttle.knownBrowser,

    /** @throws unauthorized if the address or the password is wrong; rate_limited; unavailable */
    async byPassword(
      { email, password, orgId }: { email: string; password: string; orgId: string | undefined },
      browser: Browser,
    ): Promise<Outcome> {
      const candidates = await accountsStore.allByEmail(database.sql, email, orgId ?? null)
      const ids = candidates.map(({ id }) => id)
      const known = await throttle.attemptByKnown(ids, browser)
      const counted = [...(known?.counted ?? (await throttle.attempt(email, browser)))]
      // Always two checks, so that the time does not show how many accounts there are.
      const hashes = [0, 1].map((i) => candidates[i]?.passwordHash ?? null)
      const matches = await checkPassword(password, hashes)
      const [found, ...others] = candidates.filter((_, i) => matches[i])
      // The browser is known for one account. Whether there are others must not show, so all else counts for the address too.
      const isOfKnown = known !== null && found?.id === known.personId && others.length === 0
      if (known !== null && !isOfKnown) counted.push(...(await throttle.attempt(email, browser)))
      if (found === undefined || others.length > 0) throw unauthorized(WRONG)
      return database.transaction(async (tx) => {
        // Locked, so that a change of the password finds the session or the step that follows.
        const account = await accountsStore.lock(tx, found.id)
        if (account?.passwordHash !== found.passwordHash) throw unauthorized(WRONG)
        return afterFirstFactor(tx, account, { browser, counted })
      })
    },

    /** @throws unauthorized if the code is wrong, or no sign-in waits for one; rate_limited */
    async bySecondFactor(
      token: string | null,
      shown: { readonly code?: string; readonly recoveryCode?: string },
      browser: Browser,
    ): Promise<Outcome & { readonly kind: 'session' }> {
      if ((shown.code === undefined) === (shown.recoveryCode === undefined)) {
        throw badRequest('Send either code (from the authenticator app) or recovery_code.')
      }
      const waiting = await steps.attempt(token, 'second-factor')
      if (waiting === null) {
        throw unauthorized(
          'No sign-in is waiting for a code: it has expired or had too many attempts. Sign in from the start.',
        )
      }
      await countAttempt(waiting, browser)
      return database.transaction(async (tx) => {
        // Locked before the step is taken, as where a change of the password ends the steps.
        const account = waiting.personId === null ? null : await accountsStore.lock(tx, waiting.personId)
        const step = await steps.take(tx, token, 'second-factor')
        if (step === null || account === null || !(await isCode(tx, account, shown))) throw unauthorized(WRONG_CODE)
        return complete(tx, account, { browser, mfa: true, counted: step.data.counted as readonly string[] })
      })
    },

    /**
     * Confirms the identity of a signed-in person: their session continues with a new token.
     * @throws forbidden if the password is wrong, or the caller is not a person's session
     */
    async confirm(caller: Caller, password: string): Promise<OpenedSession> {
      const session = await sessions.ofPerson(caller)
      if (session === null) throw forbidden('Only a person who is signed in can confirm their identity.')
      const account = await accountsStore.find(database.sql, session.person.id)
      if (account?.passwordHash === null) {
        throw forbidden('password: your account has none. Confirm with a passkey or the identity provider.')
      }
      const counted = await throttle.attemptIn(session.id)
      if (!(await isPassword(password, account?.passwordHash ?? null))) throw forbidden('The password is wrong.')
      return database.transaction(async (tx) => {
        await throttle.forget(tx, counted)
        const opened = await sessions.renew(tx, session, { mfa: session.mfa })
        auditNote({ kind: 'session', id: session.id, after: { authenticatedAt: opened.session.authenticatedAt } })
        return opened
      })
    },
  }
}

export type SignIn = ReturnType<typeof createSignIn>
