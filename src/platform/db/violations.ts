/** SQLSTATE 23505: a unique index, the second lock behind a rule, has refused a row. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505'

/** SQLSTATE 23503: what a row refers to is not there. Returns the table of what is missing; null for other errors. */
export const missingReference = (error: unknown): string | null => {
  if (!(error instanceof Error) || !('code' in error) || error.code !== '23503') return null
  return 'detail' in error ? (/ is not present in table "(\w+)"/.exec(String(error.detail))?.[1] ?? null) : null
}
