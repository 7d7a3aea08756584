/** Events of what a federation's members may see, whoever of them started it. */
export const federationEvents = {
  name: '0019b-federation-events',
  statements: [`alter table events_outbox add column federation_id uuid`],
} as const
