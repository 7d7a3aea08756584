import { badRequest } from '../../../domain/errors.ts'
import { extensionOf, labelOf } from '../../../domain/model.ts'
import { type BlobStore, blobPath } from '../../../platform/blobs/blob-store.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { sendBlob } from '../../../platform/http/download.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { readUpload } from '../../../platform/http/upload.ts'
import { parseFields } from '../../../platform/http/validation.ts'
import { Binary } from '../../../platform/http/wire.schema.ts'
import type { UploadsService } from '../uploads/uploads.service.ts'
import {
  CreateModelBody,
  DownloadParams,
  DownloadQuery,
  ListModelsQuery,
  Model,
  ModelDetail,
  ModelList,
  ModelParams,
  ModelVersion,
  UploadFields,
} from './models.schema.ts'
import type { ListedModel, ModelsService, StoredVersion } from './models.service.ts'

export const modelsRoutes = (
  app: App,
  models: ModelsService,
  storage: { readonly blobs: BlobStore; readonly uploads: UploadsService; readonly maxUploadBytes: number },
): void => {
  app.post(
    '/api/v1/models',
    {
      schema: {
        operationId: 'createModel',
        summary: 'Create a model',
        description: 'Add a model to the catalog; its weights are uploaded as versions.',
        tags: ['models'],
        body: CreateModelBody,
        response: { 201: Model },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { name, framework, framework_version, description, is_baseline } = request.body
      const created = await models.create(callerOf(request), {
        name: name ?? null,
        framework: framework ?? 'pytorch',
        frameworkVersion: framework_version ?? '',
        description: description ?? '',
        isBaseline: is_baseline ?? false,
      })
      return reply.code(201).send(present(created))
    },
  )

  app.get(
    '/api/v1/models',
    {
      schema: {
        operationId: 'listModels',
        summary: 'List models',
        description: 'List the catalog, newest first.',
        tags: ['models'],
        querystring: ListModelsQuery,
        response: { 200: ModelList },
      },
      config: { access: 'models:read' } satisfies RouteConfig,
    },
    async (request) => {
      const { limit, offset, framework, is_baseline } = request.query
      const found = await models.list(callerOf(request), { framework, isBaseline: is_baseline }, { limit, offset })
      return { models: found.models.map(present), total: found.total, limit, offset }
    },
  )

  app.get(
    '/api/v1/models/:model_id',
    {
      schema: {
        operationId: 'getModel',
        summary: 'Get a model with its versions',
        tags: ['models'],
        params: ModelParams,
        response: { 200: ModelDetail },
      },
      config: { access: 'models:read', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => {
      const found = await models.detail(callerOf(request), request.params.model_id)
      return { ...present(found), versions: found.versions.map(presentListedVersion) }
    },
  )

  app.post(
    '/api/v1/models/:model_id/versions/upload',
    {
      schema: {
        operationId: 'uploadVersion',
        summary: 'Upload the next version of a model',
        description: 'Upload weights as the next version of a model. Or make one of a finished upload.',
        tags: ['models'],
        consumes: ['multipart/form-data'],
        params: ModelParams,
        response: { 201: ModelVersion },
      },
      config: {
        access: 'models:write',
        errors: ['bad_request', 'not_found', 'conflict'],
        form: UploadFields,
        fileIsOptional: true,
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const { model } = await models.find(caller, request.params.model_id)
      const { file, fields } = await readUpload(request, {
        blobs: storage.blobs,
        maxBytes: storage.maxUploadBytes,
        instead: { field: 'upload', stage: (named) => storage.uploads.stage(caller, finishedUpload(named)) },
      })
      try {
        const { format, description, version_label } = parseFields(UploadFields, fields)
        const version = await models.addVersion(model, file, {
          format,
          description: description ?? '',
          versionLabel: version_label,
        })
        if (fields.upload !== undefined) await storage.uploads.forget(caller, finishedUpload(fields))
        return reply.code(201).send(presentVersion(version))
      } finally {
        await file.discard()
      }
    },
  )

  app.get(
    '/api/v1/models/:model_id/versions/:version/download',
    {
      schema: {
        operationId: 'downloadVersion',
        summary: "Download a version's file",
        description: 'The weights of a version; supports Range, If-None-Match and HEAD.',
        tags: ['models'],
        produces: ['application/octet-stream'],
        params: DownloadParams,
        querystring: DownloadQuery,
        response: { 200: Binary },
      },
      config: {
        access: 'models:read',
        errors: ['not_found'],
        beforeInvalid: async (request) => {
          const { model_id, version } = request.params as { model_id: string; version: string }
          await models.findVersion(callerOf(request), model_id, version)
        },
      } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { model_id, version } = request.params
      const found = await models.fileOf(callerOf(request), model_id, version, request.query.format)
      const { sha256, size, fileName } = found.version
      const extension = extensionOf(fileName)
      return sendBlob(request, reply, {
        size,
        sha256,
        fileName: `${found.model.name ?? found.model.id}-v${found.version.version}${extension && `.${extension}`}`,
        open: (range, chunks) => storage.blobs.read(sha256, range, chunks),
      })
    },
  )
}

/** Which upload a form means. */
const finishedUpload = (fields: Readonly<Record<string, string>>) => {
  const { upload, upload_size: size } = parseFields(UploadFields, fields)
  if (upload === undefined || size === undefined) {
    throw badRequest("The form's field 'upload' needs 'upload_size' beside it: the bytes of the whole file.")
  }
  return { sha256: upload.slice('sha256:'.length), size }
}

const present = ({ model, newest }: ListedModel) => ({
  id: model.id,
  org_id: model.orgId,
  name: model.name,
  round_id: model.roundId,
  model_path: newest === null ? null : blobPath(newest.sha256),
  model_size_bytes: newest?.size ?? null,
  model_hash: newest === null ? null : `sha256:${newest.sha256}`,
  framework: model.framework,
  framework_version: model.frameworkVersion,
  accuracy: model.accuracy,
  loss: model.loss,
  is_baseline: model.isBaseline,
  description: model.description,
  created_at: model.createdAt.toISOString(),
})

const presentListedVersion = (version: StoredVersion) => ({
  version: version.version,
  version_label: labelOf(version.version, version.ownLabel),
  format: version.format,
  model_size_bytes: version.size,
  model_hash: `sha256:${version.sha256}`,
  uploaded_at: version.uploadedAt.toISOString(),
})

const presentVersion = (version: StoredVersion) => ({
  ...presentListedVersion(version),
  model_id: version.modelId,
  model_path: blobPath(version.sha256),
  description: version.description,
  warnings: [...version.warnings],
})
