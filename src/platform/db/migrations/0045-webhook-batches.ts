/** The batch that a webhook was last sent and has not acknowledged: it is sent again with the same id and the same events. */
export const webhookBatches = {
  name: '0045-webhook-batches',
  // `event`: tx and id of its last event; `audit`: its last entry of each organization's audit log.
  statements: ['alter table integrations add column batch jsonb'],
} as const
