import type { Database } from '../../../platform/db/open.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import type { ShareBenchmarkBody } from './benchmarks.schema.ts'
import type { BenchmarksStore, StoredBenchmark } from './benchmarks.store.ts'

export type BenchmarkReport = Static<typeof ShareBenchmarkBody>

export const createBenchmarksService = (parts: {
  readonly database: Database
  readonly store: BenchmarksStore<BenchmarkReport>
  readonly now: () => Date
  readonly newId: () => string
}) => ({
  /** Keeps a report, and of who sent it nothing. */
  async share(report: BenchmarkReport): Promise<StoredBenchmark<BenchmarkReport>> {
    const stored = { id: parts.newId(), report, reportedOn: parts.now().toISOString().slice(0, 10) }
    await parts.store.insert(parts.database.sql, stored)
    return stored
  },

  /** Everybody's, whatever the key is bound to: they belong to nobody. */
  list: (page: { readonly engine: string | null; readonly limit: number; readonly offset: number }) =>
    parts.store.list(parts.database.sql, page),
})

export type BenchmarksService = ReturnType<typeof createBenchmarksService>
