/** True for SQLSTATE 23505: a unique index, which backs up a check in code, has rejected a row. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505'
