/** What a check found, and what to do about it. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly found: string
  readonly advice: string | null
}
