import type { Executor } from '../../platform/db/open.ts'
import type { ControlEventBus } from '../events.ts'
import { membersStore } from './members.store.ts'

/** Publishes that a federation has changed, in the same transaction, to the organizations that see it and to `also`. */
export const createFederationChanges =
  (events: Pick<ControlEventBus, 'publish'>) =>
  async (tx: Executor, federationId: string, also: readonly string[] = []): Promise<void> => {
    const orgIds = [...new Set([...(await membersStore.orgs(tx, federationId)), ...also])]
    await events.publish(tx, 'federation.changed', { federationId, orgIds })
  }

export type FederationChanges = ReturnType<typeof createFederationChanges>
