import type { Static } from '../../../platform/http/wire.schema.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { ShareBenchmarkBody } from './benchmarks.schema.ts'
import { benchmarksStore, type StoredBenchmark } from './benchmarks.store.ts'

export type BenchmarkReport = Static<typeof ShareBenchmarkBody>

export const createBenchmarksService = (context: Context) => ({
  /** Stores a report, and nothing about its sender. */
  async share(report: BenchmarkReport): Promise<StoredBenchmark<BenchmarkReport>> {
    const stored = { id: context.newId(), report, reportedOn: context.now().toISOString().slice(0, 10) }
    await context.database.transaction(async (tx) => {
      await benchmarksStore.insert(tx, stored)
      auditNote({ kind: 'benchmark', id: stored.id, after: { engine: report.engine, onDay: stored.reportedOn } })
    })
    return stored
  },

  /** Lists all of them for every key, because benchmarks belong to no organization. */
  list: (page: { readonly engine: string | null; readonly limit: number; readonly offset: number }) =>
    benchmarksStore.list<BenchmarkReport>(context.database.sql, page),
})

export type BenchmarksService = ReturnType<typeof createBenchmarksService>
