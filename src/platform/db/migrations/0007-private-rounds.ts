/** Private rounds end at a fixed time. The loss and accuracy of earlier ones have been shown already: they stay. */
export const privateRounds = {
  name: '0007-private-rounds',
  statements: [
    // Null where a round is not private.
    `alter table rounds add column closes_at timestamptz`,
    // Those that were started before and are still open: no update may bring their end nearer any more.
    `update rounds set closes_at = timeout_at, wanted_updates = null where privacy is not null and status = 'active'`,
    // What an update counts for is one part of the denominator, however many came.
    `update rounds set receipt = jsonb_set(receipt, '{updates}', (
        select jsonb_agg(u || jsonb_build_object('weight', 1 / (privacy->>'denominator')::float8) order by place)
        from jsonb_array_elements(receipt->'updates') with ordinality as e (u, place)))
      where privacy is not null and jsonb_array_length(receipt->'updates') > 0`,
  ],
} as const
