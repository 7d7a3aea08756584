import { InvalidArgumentError, Option } from 'commander'

/** Options that several commands share, with the same words everywhere. */
export const apiBaseOption = (): Option =>
  new Option('--api-base <url>', 'address of the service (default: SERVICE_API_BASE, else as signed in)')

export const jsonOption = (): Option => new Option('--json', 'print JSON')

export const numberAboveZero = (text: string): number => {
  const number = Number(text)
  if (text.trim() !== '' && number > 0 && Number.isFinite(number)) return number
  throw new InvalidArgumentError('It must be a number above 0.')
}

export interface ServiceOptions {
  readonly apiBase?: string
}

export interface DataOptions extends ServiceOptions {
  readonly json?: true
}
