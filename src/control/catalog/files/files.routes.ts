import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { DamagedFileList } from './files.schema.ts'
import type { Scrubs } from './scrubs.service.ts'

export const filesRoutes = (app: App, scrubs: Scrubs): void => {
  app.get(
    '/api/v1/storage/damaged-files',
    {
      schema: {
        operationId: 'listDamagedFiles',
        summary: 'List damaged files',
        description:
          'Stored files that are missing or whose hash no longer matches, at most 1,000. The service rehashes each file every ' +
          "SERVICE_SCRUB_DAYS days. A key that is bound to an organization sees only the files of that organization's versions.",
        response: { 200: DamagedFileList },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => {
      const { damaged, files, oldest } = await scrubs.report(callerOf(request))
      return {
        files: damaged.map(({ sha256, size, damage, damagedAt, versions }) => ({
          sha256,
          size,
          damage,
          damaged_at: damagedAt.toISOString(),
          versions: [...versions],
        })),
        stored_files: files,
        oldest_check_at: oldest?.toISOString() ?? null,
      }
    },
  )
}
