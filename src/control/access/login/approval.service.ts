import { type Caller, type EnrollmentMode, keyBehind, SCOPES } from '../../../domain/access.ts'
import { forbidden, unauthorized } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Approval } from '../keys/keys.service.ts'
import { loginStore } from './login.store.ts'

/** Returns what a login's key may hold if `caller` approves it. */
export const approvalBy = (caller: Caller | null): Approval => {
  if (caller === null) return { grants: SCOPES, orgId: null, approvedBy: null, personId: null, sessionId: null }
  const approvedBy = keyBehind(caller)
  return {
    grants: caller.grants.filter((grant) => grant !== 'self'),
    orgId: caller.orgId,
    approvedBy,
    personId: approvedBy === null ? (caller.personId ?? null) : null,
    sessionId: caller.sessionId ?? null,
  }
}

/** Open enrollment requires no identity. @throws unauthorized if one is required; forbidden for a device's own key */
export const requireApprover = (caller: Caller | null, enrollment: EnrollmentMode): void => {
  if (caller === null && enrollment === 'token') {
    throw unauthorized('To approve a sign-in, send an API key or use a page on which you are signed in.')
  }
  if (caller !== null && caller.deviceId !== null) {
    throw forbidden("A device's key cannot approve a sign-in. Use a key that was created for a person or a program.")
  }
}

/** Keeps the caller's session, if it is one, until the transaction ends. @throws unauthorized if it or its token has ended */
export const lockSession = async (tx: Executor, caller: Caller | null): Promise<void> => {
  if (caller?.sessionHash === undefined || (await loginStore.lockSession(tx, caller.sessionHash))) return
  throw unauthorized('This session has ended. Sign in again.')
}
