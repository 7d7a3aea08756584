/** Values that devices report, within the accepted range (src/domain/reported-number.ts). */
const REPORTED = { updates: ['local_loss', 'local_accuracy'], experiment_observations: ['mean'] } as const

/** Values that the service computed or received as settings: any finite number. */
const FINITE = {
  models: ['accuracy', 'loss'],
  rounds: ['accuracy', 'loss', 'grace_seconds'],
  training_jobs: ['clip_norm'],
  experiments: ['confidence_level'],
  experiment_variants: ['allocation'],
  privacy_budgets: ['total_epsilon', 'total_delta'],
  privacy_ledger: ['noise_multiplier', 'sample_rate', 'clip_norm', 'epsilon_after'],
} as const

/** Nullable columns computed from devices' reports, which may already contain invalid values. */
const REPAIRED = {
  models: ['accuracy', 'loss'],
  rounds: ['accuracy', 'loss'],
  training_jobs: ['clip_norm'],
  privacy_ledger: ['epsilon_after'],
} as const

const columnsOf = (tables: Readonly<Record<string, readonly string[]>>): readonly (readonly [string, string])[] =>
  Object.entries(tables).flatMap(([table, columns]) => columns.map((column) => [table, column] as const))

// NaN is greater than all other values in PostgreSQL, so both rules refuse it.
const isReported = (column: string): string => `${column} between -3.4e38 and 3.4e38`
const isNumber = (column: string): string => `${column} > '-Infinity' and ${column} < 'Infinity'`

const constrain = (table: string, column: string, rule: string): string =>
  `alter table ${table} add constraint ${table}_${column}_range check (${rule})`

/** Sets numbers that responses could not contain to null; from now on the database refuses them. */
export const numberRanges = {
  name: '0005-number-ranges',
  statements: [
    `update updates set
      local_loss = case when abs(local_loss) < 1e-38 then 0 when ${isReported('local_loss')} then local_loss end,
      local_accuracy = case when ${isReported('local_accuracy')} then local_accuracy end
      where (abs(local_loss) < 1e-38 and local_loss <> 0) or not (${isReported('local_loss')})
        or not (${isReported('local_accuracy')})`,
    // A device's mean is meaningless if it is out of range.
    `delete from experiment_observations where not (${isReported('mean')})`,
    `update experiment_observations set mean = 0 where abs(mean) < 1e-38 and mean <> 0`,
    ...columnsOf(REPAIRED).map(
      ([table, column]) => `update ${table} set ${column} = null where not (${isNumber(column)})`,
    ),
    ...columnsOf(REPORTED).map(([table, column]) => constrain(table, column, isReported(column))),
    ...columnsOf(FINITE).map(([table, column]) => constrain(table, column, isNumber(column))),
  ],
} as const
