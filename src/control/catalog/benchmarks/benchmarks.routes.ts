import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { Benchmark, BenchmarkList, ListBenchmarksQuery, ShareBenchmarkBody } from './benchmarks.schema.ts'
import type { BenchmarkReport, BenchmarksService } from './benchmarks.service.ts'

export const benchmarksRoutes = (app: App, benchmarks: BenchmarksService): void => {
  app.post(
    '/api/v1/benchmarks',
    {
      schema: {
        operationId: 'shareBenchmark',
        summary: 'Share an anonymous benchmark result',
        description:
          'Share the measured speed of a model on a machine. Stored without the name of the organization; only the audit log of the organization records who shared which result.',
        body: ShareBenchmarkBody,
        response: { 201: Benchmark },
      },
      // Any key that may change something, because this adds a row.
      config: {
        access: ['models:write', 'devices:write', 'training:write', 'admin', 'self'],
      } satisfies RouteConfig,
    },
    async (request, reply) => reply.code(201).send(present(await benchmarks.share(request.body))),
  )

  app.get(
    '/api/v1/benchmarks',
    {
      schema: {
        operationId: 'listBenchmarks',
        summary: 'List shared benchmark results',
        querystring: ListBenchmarksQuery,
        response: { 200: BenchmarkList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { engine = null, limit, offset } = request.query
      const { total, benchmarks: found } = await benchmarks.list({ engine, limit, offset })
      return { benchmarks: found.map(present), total, limit, offset }
    },
  )
}

const present = ({ id, report, reportedOn }: { id: string; report: BenchmarkReport; reportedOn: string }) => ({
  id,
  ...report,
  reported_on: reportedOn,
})
