import type { Caller, EnrollmentMode } from '../../../domain/access.ts'
import { VERSION } from '../../../version.ts'
import type { KeysService } from '../keys/keys.service.ts'
import type { PersonalSession, SessionsService } from './sessions.service.ts'

/** Creates responses that show who is signed in. */
export const createSessionPresenter =
  ({
    sessions,
    keys,
    enrollment,
    hasInference,
    identityProvider,
  }: {
    readonly sessions: SessionsService
    readonly keys: KeysService
    readonly enrollment: EnrollmentMode
    /** Whether a server for the playground is configured. */
    readonly hasInference: boolean
    /** Its host; null if none is configured. */
    readonly identityProvider: string | null
  }) =>
  async (caller: Caller | null) => {
    const session = caller === null ? null : await sessions.ofPerson(caller)
    const isKey = caller !== null && caller.keyId !== caller.sessionId
    return {
      signed_in: caller !== null,
      enrollment,
      version: VERSION,
      key_name: isKey ? (await keys.own(caller)).name : null,
      org_id: caller?.orgId ?? null,
      scopes: [...(caller?.grants ?? [])],
      inference: hasInference,
      identity_provider: identityProvider,
      person: session && {
        id: session.person.id,
        email: session.person.email ?? '',
        name: session.person.name,
        role: session.person.role,
        mfa: session.mfa,
        restriction: caller?.restriction ?? null,
      },
    }
  }

export type PresentSession = ReturnType<typeof createSessionPresenter>

export const sessionRow = (session: PersonalSession, caller: Caller) => ({
  id: session.id,
  key_id: session.keyId,
  person_id: session.personId,
  email: session.person?.email ?? null,
  mfa: session.mfa,
  browser: session.browser,
  created_at: session.createdAt.toISOString(),
  last_used_at: session.usedAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  current: session.id === caller.sessionId,
})
