/** Rounds are booked only where no other one was booked since what they cost was computed. */
export const ledgerRevision = {
  name: '0006-ledger-revision',
  statements: [
    // Grows with every reservation and with every change of the budget.
    `alter table privacy_budgets add column revision bigint not null default 0`,
  ],
} as const
