/** SQLSTATE 23505: a unique index, the second lock behind a rule, has refused a row. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505'
