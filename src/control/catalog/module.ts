import type { App } from '../../platform/http/app.ts'
import { acceptUploads } from '../../platform/http/upload.ts'
import type { Access } from '../access/module.ts'
import type { Context } from '../context.ts'
import { createDownloads } from '../downloads.ts'
import type { Module } from '../module.ts'
import { benchmarksRoutes } from './benchmarks/benchmarks.routes.ts'
import { createBenchmarksService } from './benchmarks/benchmarks.service.ts'
import { createConversionRuns } from './conversions/conversion-runs.service.ts'
import { createConversions } from './conversions/conversions.service.ts'
import { inConversions } from './conversions/conversions.store.ts'
import { filesRoutes } from './files/files.routes.ts'
import { createFilesService } from './files/files.service.ts'
import { createScrubs } from './files/scrubs.service.ts'
import { aliasesRoutes } from './models/aliases.routes.ts'
import { createAliasesService } from './models/aliases.service.ts'
import { lineageRoutes } from './models/lineage.routes.ts'
import { createLineage } from './models/lineage.service.ts'
import { modelsRoutes } from './models/models.routes.ts'
import { createModelsService } from './models/models.service.ts'
import { modelsStore } from './models/models.store.ts'
import { createRoundResults } from './models/round-results.service.ts'
import { createUploadParts } from './uploads/upload-parts.store.ts'
import { uploadsRoutes } from './uploads/uploads.routes.ts'
import { createUploadsService } from './uploads/uploads.service.ts'

const SECOND_MS = 1000
const HOUR_MS = 60 * 60 * 1000

interface Earlier {
  readonly access: Access
}

const create = (context: Context, { access: { approvals } }: Earlier) => {
  const { config, partialsOf, events } = context
  const files = createFilesService(context)
  const scrubs = createScrubs(context)
  const partials = partialsOf(createUploadParts(context))
  const uploads = createUploadsService(context, { partials, maxBytes: config.maxUploadBytes })
  files.keepReferenced(inConversions)
  const background = config.conversions === 'on'
  const conversions = createConversions(context, { background })
  const maxBytes = config.maxConversionBytes
  const conversionRuns = createConversionRuns(context, { files, maxBytes })
  const models = createModelsService(context, { files, conversions })
  events.inTransaction('unbound.adopted', (tx, { orgId }) => modelsStore.adopt(tx, orgId))
  const benchmarks = createBenchmarksService(context)
  const aliases = createAliasesService(context, { models, approvals })
  const roundResults = createRoundResults(context, { conversions })
  const lineage = createLineage(context, { models, conversions })
  return { files, scrubs, uploads, conversions, conversionRuns, models, aliases, roundResults, lineage, benchmarks }
}

/** Models, their versions and files, uploads, and shared benchmark results. */
export type Catalog = ReturnType<typeof create>

export const catalog: Module<Catalog, Earlier> = {
  description: 'Models, versions, aliases, uploads, and shared benchmark results',
  tables: [
    'blobs',
    'partial_uploads',
    'upload_parts',
    'models',
    'model_versions',
    'deleted_versions',
    'conversions',
    'model_aliases',
    'model_alias_moves',
    'benchmarks',
  ],
  create,
  async routes(app, { models, aliases, lineage, scrubs, uploads, conversions, benchmarks }, { config, blobs }) {
    benchmarksRoutes(app, benchmarks)
    filesRoutes(app, scrubs)
    aliasesRoutes(app, aliases, models)
    lineageRoutes(app, lineage, models)
    await app.register(async (scope: App) => uploadsRoutes(scope, uploads))
    await app.register(async (scope: App) => {
      await acceptUploads(scope)
      const { maxUploadBytes } = config
      const downloads = createDownloads({ blobs, config })
      modelsRoutes(scope, models, lineage, { blobs, downloads, uploads, conversions, maxUploadBytes })
    })
  },
  tasks: (_context, { files, scrubs, uploads, conversionRuns }) => [
    { name: 'conversions', everyMs: SECOND_MS, wakeOn: { 'conversion.requested': true }, run: conversionRuns.run },
    { name: 'unused-files', everyMs: HOUR_MS, run: files.collectGarbage },
    { name: 'file-checks', everyMs: HOUR_MS, run: scrubs.run },
    { name: 'unfinished-uploads', everyMs: HOUR_MS, run: uploads.expire },
  ],
}
