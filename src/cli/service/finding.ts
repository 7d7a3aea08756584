/** The result of a check, with advice. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly found: string
  readonly advice: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found, advice: null })
export const warn = (check: string, found: string, advice: string | null): Finding => ({
  check,
  state: 'warn',
  found,
  advice,
})
export const fail = (check: string, found: string, advice: string | null): Finding => ({
  check,
  state: 'fail',
  found,
  advice,
})
