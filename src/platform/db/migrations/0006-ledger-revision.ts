/** Rounds are booked only if no other round was booked since their cost was computed. */
export const ledgerRevision = {
  name: '0006-ledger-revision',
  statements: [
    // Incremented by every reservation and every change of the budget.
    `alter table privacy_budgets add column revision bigint not null default 0`,
  ],
} as const
