import { Option } from 'commander'

/** Options that several commands share, with the same words everywhere. */
export const apiBaseOption = (): Option =>
  new Option('--api-base <url>', 'address of the service (default: SERVICE_API_BASE, else as signed in)')

export const jsonOption = (): Option => new Option('--json', 'print JSON')

export interface ServiceOptions {
  readonly apiBase?: string
}

export interface DataOptions extends ServiceOptions {
  readonly json?: true
}
