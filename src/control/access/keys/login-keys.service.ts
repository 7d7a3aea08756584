import type { Grant } from '../../../domain/access.ts'
import { unauthorized } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { isValid } from './authentication.service.ts'
import { keysStore } from './keys.store.ts'
import { earliest, type LatestEnd, type Mint, noteMade } from './minting.service.ts'
import type { StoredKey } from './stored-key.store.ts'

/** The approver of a login, and what its key may hold. */
export interface Approval {
  readonly grants: readonly Grant[]
  readonly orgId: string | null
  /** The key that approved it; null for a person's session, and under open enrollment. */
  readonly approvedBy: string | null
  /** The person whose session approved it. */
  readonly personId: string | null
  /** The session that approved it, with which it ends; null for a key sent as such. */
  readonly sessionId: string | null
}

/** The lifetime of a person's key; a login makes a new one. */
const PERSONAL_KEY_MS = 90 * 24 * 60 * 60 * 1000

/** Creates keys for logins. */
export const createLoginKeys = (
  { now, config: { enrollment } }: Context,
  {
    mint,
    latestEnd,
  }: {
    readonly mint: Mint
    readonly latestEnd: LatestEnd
  },
) => ({
  /**
   * Creates a key for an approved login. It belongs to the organization of the approving key and does not outlive that key, or
   * belongs to the approving person.
   * @throws unauthorized if the approver is no longer valid, or there is none although keys are required now
   */
  async makeForLogin(
    tx: Executor,
    { grants, orgId, approvedBy, personId }: Approval,
    name: string,
  ): Promise<{ key: StoredKey; token: string }> {
    if (approvedBy === null && personId === null && enrollment === 'token') {
      throw unauthorized('This sign-in was approved when the service required no keys. Start again with: svc login')
    }
    if (approvedBy === null) {
      const usual = personId === null ? null : new Date(now().getTime() + PERSONAL_KEY_MS)
      const expiresAt = earliest(usual, await latestEnd(tx, orgId))
      const made = mint({ name, scopes: grants, orgId, expiresAt }, { personId, createdBy: personId })
      await keysStore.insert(tx, made.key)
      noteMade(made.key)
      const stored = await keysStore.find(tx, made.key.id)
      if (stored === null || !isValid(stored, now()))
        throw unauthorized('The person who approved this sign-in was removed.')
      return made
    }
    const found = await keysStore.find(tx, approvedBy)
    if (found !== null) await keysStore.lockChain(tx, found)
    const approver = await keysStore.find(tx, approvedBy)
    if (approver === null || !isValid(approver, now())) {
      throw unauthorized('The key that approved this sign-in is no longer valid.')
    }
    const scopes = grants.filter((scope) => approver.grants.includes(scope))
    const made = mint(
      {
        name,
        scopes,
        orgId: approver.orgId,
        expiresAt: earliest(approver.expiresAt, await latestEnd(tx, approver.orgId)),
      },
      {
        approvedBy: approver.id,
        rootId: approver.rootId ?? approver.id,
        personId: approver.personId,
        createdBy: approver.personId ?? approver.id,
      },
    )
    await keysStore.insert(tx, made.key)
    noteMade(made.key)
    return made
  },
})
