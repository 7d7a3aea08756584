import { type RawBuilder, sql } from 'kysely'

/**
 * Stored times after this were written while the clock was ahead. The database's clock counts too: a process whose own clock is
 * behind must not change the right times of others. Clocks of several processes differ a little.
 */
export const latestTrusted = (now: Date): RawBuilder<Date> =>
  sql`(greatest(${now}::timestamptz, now()) + interval '1 hour')`

/**
 * The mean of a column of float8. Equal values have exactly that mean: avg's rounding would make two groups of them differ.
 */
export const meanOf = (column: RawBuilder<unknown>): RawBuilder<number> =>
  sql`case when min(${column}) = max(${column}) then min(${column}) else avg(${column}) end`

/**
 * The sum of squared deviations from the mean. PostgreSQL uses the method of Youngs and Cramer, which does not cancel, but whose
 * rounding gives equal values a variance: then any difference would be significant.
 */
export const squaredDeviationsOf = (column: RawBuilder<unknown>): RawBuilder<number> =>
  sql`case when min(${column}) = max(${column}) then 0 else var_pop(${column}) * count(*) end`
