import type { Executor } from '../../platform/db/open.ts'
import type { ControlEventBus } from '../events.ts'
import type { MembersStore } from './members.store.ts'

/** Tells those who see a federation, and `also`, that it has changed: inside the transaction that changes it. */
export const createFederationChanges =
  (events: Pick<ControlEventBus, 'publish'>, members: Pick<MembersStore, 'orgs'>) =>
  async (tx: Executor, federationId: string, also: readonly string[] = []): Promise<void> => {
    const orgIds = [...new Set([...(await members.orgs(tx, federationId)), ...also])]
    await events.publish(tx, 'federation.changed', { federationId, orgIds })
  }

export type FederationChanges = ReturnType<typeof createFederationChanges>
