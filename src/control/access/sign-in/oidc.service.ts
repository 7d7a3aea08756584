import type { Caller } from '../../../domain/access.ts'
import { conflict, forbidden, unauthorized } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { SessionsService, StoredSession } from '../sessions/sessions.service.ts'
import { type Account, accountsStore } from './accounts.store.ts'
import type { AuthorizationRequest, IdentityProvider, VerifiedIdentity } from './identity-provider.ts'
import type { Browser, Outcome, SignIn } from './sign-in.service.ts'
import type { Steps } from './steps.service.ts'

const SEVERAL =
  'You belong to several organizations, or several have invited you. Begin again, and give the id of one of them (org_id).'

const REMOVED = 'This account was removed.'

/** People who are invited, and may therefore sign in. */
interface Invitations {
  openInvitationsTo(db: Executor, email: string, orgId: string | null): Promise<readonly { readonly hash: string }[]>
  /** Creates their account. @throws unauthorized if the invitation ended meanwhile */
  joinBy(tx: Executor, invitation: { readonly hash: string }, name: string | null): Promise<{ readonly id: string }>
}

/** A sign-in that waits for the identity provider. */
interface Waiting {
  readonly request: AuthorizationRequest
  readonly orgId: string | null
  /** The session that continues, if a person confirms their identity again. */
  readonly session: Pick<StoredSession, 'id' | 'hash'> | null
}

/** Signs people in with the identity provider. It confirms their identity; an admin has decided whether they may sign in. */
export const createOidc = (
  { database, now }: Context,
  {
    provider,
    people,
    sessions,
    signIn,
    steps,
  }: {
    /** Null if none is configured. */
    readonly provider: IdentityProvider | null
    readonly people: Invitations
    readonly sessions: SessionsService
    readonly signIn: SignIn
    readonly steps: Steps
  },
) => {
  const requireProvider = (): IdentityProvider => {
    if (provider !== null) return provider
    throw conflict('This service has no identity provider: set SERVICE_OIDC_ISSUER. Sign in another way.')
  }

  /** Links an account that an admin has created or invited to the identity, once, by its verified email address. */
  const link = async (tx: Executor, verified: VerifiedIdentity, orgId: string | null): Promise<Account> => {
    const { identity, email, name } = verified
    if (email === null) {
      throw forbidden(
        'The identity provider has not verified your email address, so your account cannot be identified.',
      )
    }
    const found = await accountsStore.allByEmail(tx, email, orgId)
    // Any organization can make an account or an invitation for the address, so none of them outweighs the others.
    const invitations = await people.openInvitationsTo(tx, email, orgId)
    if (found.length + invitations.length > 1) throw unauthorized(SEVERAL)
    if (found.length + invitations.length === 0) {
      throw forbidden(
        `There is no invitation for ${email}${orgId === null ? '' : ` to '${orgId}'`}. Ask an admin for one.`,
      )
    }
    const id = found[0]?.id ?? (await people.joinBy(tx, invitations[0]!, name)).id
    if ((await accountsStore.lock(tx, id)) === null) throw unauthorized(REMOVED)
    if (!(await accountsStore.linkIdentity(tx, id, identity))) {
      throw forbidden(
        'This account is linked to a different user at the identity provider. An admin can unlink it with: svc team reset-factor <email>',
      )
    }
    const account = (await accountsStore.find(tx, id))!
    const after = { identityProvider: identity.split(' ')[0] }
    auditNote({ kind: 'person', id, orgId: account.orgId, name: email, before: { identityProvider: null }, after })
    return account
  }

  /** The account, locked, so that whoever removes it or resets its factors finds the session or the step that follows. */
  const accountOf = async (tx: Executor, verified: VerifiedIdentity, orgId: string | null): Promise<Account> => {
    const [known, another] = await accountsStore.allByIdentity(tx, verified.identity, orgId)
    if (another !== undefined) throw unauthorized(SEVERAL)
    if (known === undefined) return link(tx, verified, orgId)
    const account = await accountsStore.lock(tx, known.id)
    if (account === null) throw unauthorized(REMOVED)
    if (account.oidcIdentity === verified.identity) return account
    throw unauthorized('An admin has just unlinked your account from the identity provider. Sign in again.')
  }

  /** Continues the session of a person who has confirmed their identity again. */
  const confirm = async (
    tx: Executor,
    { session, personId }: { readonly session: Pick<StoredSession, 'id' | 'hash'>; readonly personId: string },
    { identity, mfa }: VerifiedIdentity,
  ): Promise<Outcome> => {
    const account = await accountsStore.find(tx, personId)
    if (account === null) throw unauthorized(REMOVED)
    if (account.oidcIdentity !== identity) {
      throw forbidden('The identity provider signed in somebody else, or an account that is not linked to this one.')
    }
    const opened = await sessions.renew(tx, session, { mfa })
    const after = { authenticatedAt: opened.session.authenticatedAt }
    auditNote({ kind: 'session', id: session.id, after, actor: opened.caller })
    return { kind: 'session', opened, known: await signIn.knownBrowser(account.id) }
  }

  return {
    /** The provider's host; null if none is configured. */
    name: provider?.name ?? null,

    /**
     * Returns where to send the browser, and the token of its step. A person who is signed in must authenticate again.
     * @throws conflict without a provider; upstream_failed, upstream_timeout
     */
    async begin(
      caller: Caller | null,
      { redirectUri, orgId }: { readonly redirectUri: string; readonly orgId: string | null },
    ): Promise<{ address: string; token: string }> {
      const session = caller === null ? null : await sessions.ofPerson(caller)
      const fresh = session !== null
      const { address, request } = await requireProvider().begin(redirectUri, {
        fresh,
        email: session?.person.email ?? null,
      })
      const waiting: Waiting = { request, orgId, session: session && { id: session.id, hash: session.hash } }
      const token = await steps.begin(database.sql, 'oidc', session?.person.id ?? null, { ...waiting })
      return { address, token }
    },

    /**
     * Finishes a sign-in with the provider's response, in the browser that began it.
     * @throws unauthorized, forbidden, upstream_failed, upstream_timeout
     */
    async finish(token: string | null, query: string, browser: Browser): Promise<Outcome> {
      const step = await steps.take(database.sql, token, 'oidc')
      if (step === null) {
        throw unauthorized(
          'No sign-in of this browser is waiting for the identity provider; it may have expired. Begin again.',
        )
      }
      const { request, orgId, session } = step.data as unknown as Waiting
      const verified = await requireProvider().finish(query, request)
      const { mfa, ageSeconds } = verified
      const authenticatedAt = ageSeconds === null ? null : new Date(now().getTime() - ageSeconds * 1000)
      return database.transaction(async (tx) => {
        if (session !== null) return confirm(tx, { session, personId: step.personId! }, verified)
        const account = await accountOf(tx, verified, orgId)
        if (mfa) return signIn.complete(tx, account, { browser, mfa, authenticatedAt })
        return signIn.afterFirstFactor(tx, account, { browser, authenticatedAt })
      })
    },
  }
}

export type Oidc = ReturnType<typeof createOidc>
