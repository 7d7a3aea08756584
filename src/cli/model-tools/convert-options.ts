import type { DataOptions } from '../options.ts'

export interface ConvertOptions extends DataOptions {
  readonly formats: readonly string[]
  readonly output: string
  readonly inputShape?: readonly number[]
  readonly architecture?: string
  readonly base?: string
  readonly validate: boolean
  readonly push?: true
}
