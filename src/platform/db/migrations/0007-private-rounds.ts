/** Private rounds end at a fixed time. The loss and accuracy of earlier ones have already been shown, so they stay. */
export const privateRounds = {
  name: '0007-private-rounds',
  statements: [
    // Null if a round is not private.
    `alter table rounds add column closes_at timestamptz`,
    // Earlier private rounds that are still active: updates can no longer bring their end forward.
    `update rounds set closes_at = timeout_at, wanted_updates = null where privacy is not null and status = 'active'`,
    // An update's weight is one part of the denominator, however many arrived.
    `update rounds set receipt = jsonb_set(receipt, '{updates}', (
        select jsonb_agg(u || jsonb_build_object('weight', 1 / (privacy->>'denominator')::float8) order by place)
        from jsonb_array_elements(receipt->'updates') with ordinality as e (u, place)))
      where privacy is not null and jsonb_array_length(receipt->'updates') > 0`,
  ],
} as const
