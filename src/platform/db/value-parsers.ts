import pg from 'pg'

const INT8 = 20
const NUMERIC = 1700

/**
 * How text from the database becomes a value: like `pg`, but bigint and numeric (which count(*) and sum() return) are
 * numbers; our sizes and counts stay below 2^53. Timestamps with time zone are Dates.
 */
export const parseValue = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 || oid === NUMERIC
    ? Number
    : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser
