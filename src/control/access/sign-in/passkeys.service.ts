import type { Caller } from '../../../domain/access.ts'
import { badRequest, conflict, forbidden, notFound, unauthorized } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { lockSession } from '../login/approval.service.ts'
import type { OpenedSession } from '../sessions/session-opening.service.ts'
import type { SessionsService } from '../sessions/sessions.service.ts'
import type { AccountService } from './account.service.ts'
import { type Account, accountsStore } from './accounts.store.ts'
import { type Passkey, passkeysStore } from './passkeys.store.ts'
import type { Browser, Outcome, SignIn } from './sign-in.service.ts'
import type { Steps } from './steps.service.ts'
import type { StepKind } from './steps.store.ts'
import {
  type CredentialResponse,
  creationOptions,
  namedIn,
  newChallenge,
  type Options,
  type RelyingParty,
  requestOptions,
  verifiedCreation,
  verifiedUse,
} from './web-authn.ts'

export type { Passkey } from './passkeys.store.ts'

const MAX_PASSKEYS = 20
const WRONG = 'This passkey is not valid here: it is unknown or was removed, or its response is too old. Try again.'

const note = (
  { id, name }: Pick<Passkey, 'id' | 'name'>,
  { orgId }: Account,
  before: object | null,
  after: object | null,
) => auditNote({ kind: 'passkey', id, orgId, name, before, after })

/** A browser's response to a challenge; `token` identifies the challenge and is in that browser's cookie. */
interface ChallengeResponse {
  readonly token: string | null
  readonly page: RelyingParty
  readonly response: CredentialResponse
}

/** Options for the browser, and the token of the challenge in them. */
interface PasskeyChallenge {
  readonly options: Options
  readonly token: string
}

/** Passkeys of people (WebAuthn level 3). They are discoverable and verify the user, so each counts as two factors. */
export const createPasskeys = (
  { database, now }: Context,
  {
    account,
    sessions,
    signIn,
    steps,
  }: {
    readonly account: AccountService
    readonly sessions: SessionsService
    readonly signIn: SignIn
    readonly steps: Steps
  },
) => {
  const ask = async (kind: StepKind, personId: string | null, optionsOf: (challenge: string) => Promise<Options>) => {
    const challenge = newChallenge()
    return {
      options: await optionsOf(challenge),
      token: await steps.begin(database.sql, kind, personId, { challenge }),
    }
  }

  /** Returns the passkey that answers the challenge, which works once, and its use counter. @throws unauthorized */
  const verify = async ({
    token,
    page,
    response,
  }: ChallengeResponse): Promise<{ passkey: Passkey; counter: number }> => {
    const step = await steps.take(database.sql, token, 'passkey-sign-in')
    const named = namedIn(response)
    const passkey = named && (await passkeysStore.find(database.sql, named.id))
    if (step === null || passkey === null || passkey.personId !== named?.personId) throw unauthorized(WRONG)
    const counter = await verifiedUse(response, page, { challenge: String(step.data.challenge), passkey })
    if (counter === null) throw unauthorized(WRONG)
    return { passkey, counter }
  }

  /** Records a use of the passkey, and returns its owner. @throws unauthorized if it was removed or used meanwhile */
  const use = async (tx: Executor, { passkey, counter }: { passkey: Passkey; counter: number }): Promise<Account> => {
    // Locked first, as where all factors of an account are reset.
    const owner = await accountsStore.lock(tx, passkey.personId)
    const isNew = await passkeysStore.use(tx, passkey.id, counter, now())
    if (!isNew || owner === null) throw unauthorized(WRONG)
    return owner
  }

  /** Returns one of the caller's own passkeys. @throws not_found */
  const ownOf = async (tx: Executor, { id: personId }: Account, id: string): Promise<Passkey> => {
    const found = await passkeysStore.find(tx, id)
    if (found?.personId !== personId) throw notFound('Passkey', id)
    return found
  }

  return {
    list: async (caller: Caller): Promise<Passkey[]> =>
      passkeysStore.list(database.sql, (await account.own(caller)).account.id),

    /** @throws forbidden; conflict if there are too many */
    async beginAdding(caller: Caller, page: RelyingParty): Promise<PasskeyChallenge> {
      const { account: person } = await account.recent(caller)
      const known = await passkeysStore.list(database.sql, person.id)
      if (known.length >= MAX_PASSKEYS) throw conflict(`You have ${MAX_PASSKEYS} passkeys. Remove one first.`)
      return ask('passkey-enroll', person.id, (challenge) => creationOptions(page, { challenge, person, known }))
    },

    /**
     * Ends the person's other sessions, which may have used one factor. The first second factor comes with recovery codes.
     * @throws bad_request, conflict, forbidden
     */
    async add(
      caller: Caller,
      name: string,
      { token, page, response }: ChallengeResponse,
    ): Promise<{ passkey: Passkey; opened: OpenedSession; recoveryCodes: string[] }> {
      const { account: person, session } = await account.recent(caller)
      const step = await steps.take(database.sql, token, 'passkey-enroll')
      const made =
        step?.personId === person.id ? await verifiedCreation(response, page, String(step.data.challenge)) : null
      if (made === null) {
        throw badRequest(
          'credential: it does not match the options from POST /account/passkeys/options in this browser. Begin again.',
        )
      }
      const passkey: Passkey = {
        id: made.id,
        personId: person.id,
        name,
        publicKey: made.publicKey,
        counter: made.counter,
        transports: made.transports ?? [],
        createdAt: now(),
        lastUsedAt: null,
      }
      return database.transaction(async (tx) => {
        // Locked first, so that a reset of the factors finds the passkey.
        const { recoveryCodesLeft } = (await accountsStore.lock(tx, person.id)) ?? person
        if (!(await passkeysStore.insert(tx, passkey))) throw conflict('This passkey is set up already.')
        const recoveryCodes = recoveryCodesLeft > 0 ? [] : await account.makeRecoveryCodes(tx, person.id)
        note(passkey, person, null, { name })
        return { passkey, opened: await sessions.renewAlone(tx, session, { mfa: true }), recoveryCodes }
      })
    },

    async rename(caller: Caller, id: string, name: string): Promise<Passkey> {
      const { account: person } = await account.own(caller)
      return database.transaction(async (tx) => {
        const passkey = await ownOf(tx, person, id)
        await passkeysStore.rename(tx, id, name)
        note(passkey, person, { name: passkey.name }, { name })
        return { ...passkey, name }
      })
    },

    /** @throws conflict for the last factor if the organization requires one */
    async remove(caller: Caller, id: string): Promise<void> {
      const own = await account.recent(caller)
      await database.transaction(async (tx) => {
        await accountsStore.lock(tx, own.account.id)
        await lockSession(tx, caller)
        const passkey = await ownOf(tx, own.account, id)
        if (!(await passkeysStore.delete(tx, id))) throw notFound('Passkey', id)
        await account.afterRemoval(tx, own)
        note(passkey, own.account, { name: passkey.name }, null)
      })
    },

    /** Begins a sign-in or a confirmation: the same for all people. */
    beginUse: (page: RelyingParty): Promise<PasskeyChallenge> =>
      ask('passkey-sign-in', null, (challenge) => requestOptions(page, challenge)),

    /** Signs in with a passkey alone; `waiting` is the password sign-in that it may complete. @throws unauthorized */
    async signIn(
      answered: ChallengeResponse,
      { browser, waiting }: { readonly browser: Browser; readonly waiting: string | null },
    ): Promise<Outcome & { readonly kind: 'session' }> {
      const verified = await verify(answered)
      return database.transaction(async (tx) => {
        const owner = await use(tx, verified)
        const step = await steps.take(tx, waiting, 'second-factor')
        const counted = step?.personId === owner.id ? (step.data.counted as readonly string[]) : []
        return signIn.complete(tx, owner, { browser, mfa: true, counted })
      })
    },

    /** Confirms the identity of a signed-in person. @throws unauthorized; forbidden for another person's passkey */
    async confirm(caller: Caller, answered: ChallengeResponse): Promise<OpenedSession> {
      const { session, account: person } = await account.own(caller)
      const verified = await verify(answered)
      if (verified.passkey.personId !== person.id) throw forbidden('This passkey is not yours.')
      return database.transaction(async (tx) => {
        await use(tx, verified)
        const opened = await sessions.renew(tx, session, { mfa: true })
        auditNote({ kind: 'session', id: session.id, after: { authenticatedAt: opened.session.authenticatedAt } })
        return opened
      })
    },
  }
}

export type Passkeys = ReturnType<typeof createPasskeys>
