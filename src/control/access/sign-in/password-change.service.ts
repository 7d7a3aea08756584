import type { Caller } from '../../../domain/access.ts'
import { forbidden } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import type { OpenedSession } from '../sessions/session-opening.service.ts'
import type { PersonalSession, SessionPerson, SessionsService } from '../sessions/sessions.service.ts'
import { type Account, accountsStore } from './accounts.store.ts'
import { hashPassword, isPassword, requireGoodPassword } from './passwords.service.ts'
import type { Steps } from './steps.service.ts'
import type { Throttle } from './throttle.service.ts'

/** A caller that is signed in as a person. */
export interface Own {
  readonly session: PersonalSession & { readonly person: SessionPerson }
  readonly account: Account
}

/** Revokes a person's keys; returns a function to call after the commit. */
export type EndKeys = (tx: Executor, personId: string) => Promise<() => void>

export const createPasswordChange = (
  { database, now }: Context,
  {
    sessions,
    steps,
    throttle,
    endKeys,
    own,
    note,
  }: {
    readonly sessions: SessionsService
    readonly steps: Pick<Steps, 'endOf'>
    readonly throttle: Throttle
    readonly endKeys: EndKeys
    /** @throws forbidden for callers that are not signed in as a person */
    readonly own: (caller: Caller) => Promise<Own>
    readonly note: (account: Account, before: object | null, after: object | null) => void
  },
) => {
  return {
    /**
     * Requires the old password. Ends the person's other sessions and, if they want, revokes their personal keys.
     * @throws forbidden if the old password is wrong or there is none; bad_request for a weak new one
     */
    async changePassword(
      caller: Caller,
      { old, password, revokeKeys }: { old: string; password: string; revokeKeys: boolean },
    ): Promise<OpenedSession> {
      const { session, account } = await own(caller)
      if (account.passwordHash === null) {
        throw forbidden('Your account has no password: you sign in with the identity provider or a passkey.')
      }
      requireGoodPassword(password, account.email, 'new_password')
      const counted = await throttle.attemptIn(session.id)
      if (!(await isPassword(old, account.passwordHash))) throw forbidden('old_password: it is not your password.')
      await throttle.countPassword(account.orgId, account.email)
      const passwordHash = await hashPassword(password)
      const { opened, ended } = await database.transaction(async (tx) => {
        await throttle.forget(tx, counted)
        const change = { from: account.passwordHash, to: passwordHash }
        if (!(await accountsStore.setPassword(tx, account.id, change)))
          throw forbidden('old_password: it was changed in the meantime.')
        // A sign-in with the old password that waits for its second factor must not open a session.
        await steps.endOf(tx, account.id)
        // Before the keys are revoked, because sign-ins that are under way create keys.
        const opened = await sessions.renewAlone(tx, session, { mfa: session.mfa })
        note(account, null, { passwordChangedAt: now(), ...(revokeKeys && { personalKeys: 'revoked' }) })
        return {
          opened,
          ended: revokeKeys ? await endKeys(tx, account.id) : null,
        }
      })
      ended?.()
      return opened
    },
  }
}
