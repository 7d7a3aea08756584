import { randomBytes } from 'node:crypto'
import type { Caller } from '../../../domain/access.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { CONSONANTS, composeCode, displayCode, typedCode } from '../../../domain/pairing.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import { auditNote, unaudited } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { KeysService, StoredKey } from '../keys/keys.service.ts'
import { approvalBy, lockSession, requireApprover } from './approval.service.ts'
import { type DeviceLogin, deviceLoginsStore } from './device-logins.store.ts'

export type { DeviceLogin } from './device-logins.store.ts'

const LIFETIME_MS = 10 * 60 * 1000
const INTERVAL_SECONDS = 5
/** Added for each request that comes too early (RFC 8628, section 3.5). */
const SLOW_DOWN_SECONDS = 5
const MAX_INTERVAL_SECONDS = 60
/** A request may travel faster than the one before it. */
const GRACE_MS = 1000
const MAX_OF_ADDRESS = 20
const MAX_WAITING = 10_000

type Refusal = 'authorization_pending' | 'slow_down' | 'expired_token' | 'access_denied'

const REFUSALS: Readonly<Record<Refusal, string>> = {
  authorization_pending: 'Nobody has approved or denied this sign-in yet. Ask again after the interval.',
  slow_down: 'This request came too early. Add 5 s to the interval.',
  expired_token: 'This device code is unknown, used, or expired. Start again with: svc login --no-browser',
  access_denied: 'The sign-in was denied.',
}

/** @throws bad_request if the text cannot be a code */
const userHashOf = (text: string): string => {
  const code = typedCode(text, CONSONANTS)
  if (code === null) throw badRequest('user_code: it must be the 8 letters that the program shows, such as BCDF-GHJK.')
  return tokenHash(code)
}

/**
 * Signs in a program on a machine without a browser: device authorization (RFC 8628). The program shows a short code and polls
 * with a long one; a signed-in person types the short one, and approves or denies.
 */
export const createDeviceLoginsService = (
  { database, now, config: { enrollment } }: Context,
  { keys }: { readonly keys: KeysService },
) => {
  /** Returns why the program gets no key now; null if it was approved. */
  const poll = async (tx: Executor, hash: string): Promise<Refusal | null> => {
    const login = await deviceLoginsStore.lock(tx, hash)
    const at = now()
    if (login === null || login.expiresAt <= at) return 'expired_token'
    if (login.decision === 'approved') return null
    if (login.decision === 'denied') {
      await deviceLoginsStore.delete(tx, hash)
      return 'access_denied'
    }
    const early = at < login.nextPollAt
    const interval = Math.min(login.intervalSeconds + (early ? SLOW_DOWN_SECONDS : 0), MAX_INTERVAL_SECONDS)
    await deviceLoginsStore.setPolled(tx, hash, interval, new Date(at.getTime() + interval * 1000 - GRACE_MS))
    return early ? 'slow_down' : 'authorization_pending'
  }

  return {
    /** Deletes the sign-ins that this session approved. */
    endOf: deviceLoginsStore.deleteOf,

    /** @throws rate_limited while too many sign-ins wait, from this address or in total */
    async start(clientName: string, address: string): Promise<{ deviceCode: string; userCode: string }> {
      const deviceCode = randomBytes(32).toString('base64url')
      const userCode = composeCode(randomBytes, CONSONANTS)
      await database.transaction(async (tx) => {
        await deviceLoginsStore.deleteExpired(tx, now())
        const { all, ofAddress } = await deviceLoginsStore.count(tx, address)
        if (ofAddress >= MAX_OF_ADDRESS || all >= MAX_WAITING) {
          throw new ServiceError('rate_limited', 'Too many sign-ins are waiting for approval. Try again in 60 s.', {
            retryAfterSeconds: 60,
          })
        }
        await deviceLoginsStore.insert(tx, {
          ...approvalBy(null),
          grants: [],
          deviceHash: tokenHash(deviceCode),
          userHash: tokenHash(userCode),
          clientName,
          address,
          createdAt: now(),
          expiresAt: new Date(now().getTime() + LIFETIME_MS),
          intervalSeconds: INTERVAL_SECONDS,
          nextPollAt: now(),
          decision: null,
        })
      })
      return { deviceCode, userCode: displayCode(userCode) }
    },

    lifetimeSeconds: LIFETIME_MS / 1000,
    intervalSeconds: INTERVAL_SECONDS,

    /** The sign-in that waits for approval with this code; null if there is none. */
    async find(caller: Caller | null, userCode: string): Promise<DeviceLogin | null> {
      requireApprover(caller, enrollment)
      return deviceLoginsStore.findByUserCode(database.sql, userHashOf(userCode), now())
    },

    /** Approves or denies a sign-in, once; null if none waits with this code. */
    async decide(caller: Caller | null, userCode: string, approve: boolean): Promise<DeviceLogin | null> {
      requireApprover(caller, enrollment)
      const hash = userHashOf(userCode)
      const decision = approve ? 'approved' : 'denied'
      const approval = approvalBy(caller)
      return database.transaction(async (tx) => {
        await lockSession(tx, caller)
        const login = await deviceLoginsStore.decide(tx, hash, decision, approval, now())
        if (login !== null) {
          const { clientName, approvedBy, personId, orgId } = login
          const after = { decision, approvedBy, personId }
          auditNote({ kind: 'login', id: approvedBy ?? personId ?? 'open', name: clientName, orgId, after })
        }
        return login
      })
    },

    /**
     * Returns the key of an approved sign-in, once.
     * @throws authorization_pending, slow_down, expired_token and access_denied, as in RFC 8628; unauthorized if the approver
     * is no longer valid
     */
    async exchange(deviceCode: string): Promise<{ key: StoredKey; token: string }> {
      const hash = tokenHash(deviceCode)
      const refusal = await unaudited(() => database.transaction((tx) => poll(tx, hash)))
      const made =
        refusal ??
        (await database.transaction(async (tx) => {
          const login = await deviceLoginsStore.lock(tx, hash)
          if (login === null) return 'expired_token'
          await deviceLoginsStore.delete(tx, hash)
          return keys.makeForLogin(tx, login, `${login.clientName} ${now().toISOString().slice(0, 10)}`)
        }))
      if (typeof made !== 'string') return made
      throw new ServiceError(made, REFUSALS[made])
    },

    deleteExpired: (): Promise<void> => deviceLoginsStore.deleteExpired(database.sql, now()),
  }
}

export type DeviceLoginsService = ReturnType<typeof createDeviceLoginsService>
