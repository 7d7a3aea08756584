/** Events that a federation's members may see, whichever of them caused them. */
export const federationEvents = {
  name: '0019b-federation-events',
  statements: [`alter table events_outbox add column federation_id uuid`],
} as const
