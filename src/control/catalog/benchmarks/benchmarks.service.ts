import type { Database } from '../../../platform/db/open.ts'
import type { Static } from '../../../platform/http/wire.schema.ts'
import { auditNote } from '../../audit-note.ts'
import type { ShareBenchmarkBody } from './benchmarks.schema.ts'
import type { BenchmarksStore, StoredBenchmark } from './benchmarks.store.ts'

export type BenchmarkReport = Static<typeof ShareBenchmarkBody>

export const createBenchmarksService = (parts: {
  readonly database: Database
  readonly store: BenchmarksStore<BenchmarkReport>
  readonly now: () => Date
  readonly newId: () => string
}) => ({
  /** Stores a report, and nothing about its sender. */
  async share(report: BenchmarkReport): Promise<StoredBenchmark<BenchmarkReport>> {
    const stored = { id: parts.newId(), report, reportedOn: parts.now().toISOString().slice(0, 10) }
    await parts.database.transaction(async (tx) => {
      await parts.store.insert(tx, stored)
      auditNote({ kind: 'benchmark', id: stored.id, after: { engine: report.engine, onDay: stored.reportedOn } })
    })
    return stored
  },

  /** Lists all of them for every key, because benchmarks belong to no organization. */
  list: (page: { readonly engine: string | null; readonly limit: number; readonly offset: number }) =>
    parts.store.list(parts.database.sql, page),
})

export type BenchmarksService = ReturnType<typeof createBenchmarksService>
