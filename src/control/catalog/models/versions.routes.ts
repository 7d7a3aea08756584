import { badRequest } from '../../../domain/errors.ts'
import type { ConvertedFormat } from '../../../domain/model.ts'
import type { BlobStore } from '../../../platform/blobs/blob-store.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import { DOWNLOADED, sendBlob } from '../../../platform/http/download.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { readUpload } from '../../../platform/http/upload.ts'
import type { Downloads } from '../../downloads.ts'
import type { Conversions } from '../conversions/conversions.service.ts'
import type { UploadsService } from '../uploads/uploads.service.ts'
import { presentVersion } from './models.present.ts'
import {
  DownloadParams,
  DownloadQuery,
  ModelParams,
  ModelVersion,
  readUploadFields,
  UploadFields,
} from './models.schema.ts'
import type { ModelsService } from './models.service.ts'

export interface VersionStorage {
  readonly blobs: BlobStore
  readonly downloads: Downloads
  readonly uploads: UploadsService
  readonly conversions: Conversions
  readonly maxUploadBytes: number
}

/** The versions of a model, and their files. */
export const versionsRoutes = (app: App, models: ModelsService, storage: VersionStorage): void => {
  app.post(
    '/api/v1/models/:model_id/versions/upload',
    {
      schema: {
        operationId: 'uploadVersion',
        summary: 'Upload the next version of a model',
        description: 'Upload weights as the next version of a model, or create it from a finished upload.',
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
        const { format, description, version_label, formats, metadata } = readUploadFields(fields)
        const version = await models.addVersion(model, file, {
          format,
          description: description ?? '',
          versionLabel: version_label,
          metadata,
          formats: (formats?.split(',') ?? []) as ConvertedFormat[],
        })
        if (fields.upload !== undefined) await storage.uploads.forget(caller, finishedUpload(fields))
        const converted = await storage.conversions.ofModel(model.id)
        const own = converted.filter((one) => one.version === version.version)
        return reply.code(201).send(presentVersion(version, own))
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
        description:
          'The file of a version; supports Range, If-None-Match, and HEAD. The first request for a format other than the ' +
          'uploaded one starts a conversion: the response is 404 with Retry-After until the file is ready, and 404 without ' +
          'Retry-After if the model cannot be converted.',
        produces: ['application/octet-stream'],
        params: DownloadParams,
        querystring: DownloadQuery,
        response: DOWNLOADED,
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
      const found = await models.findVersion(callerOf(request), model_id, version)
      const { sha256, size, extension } = await storage.conversions.fileOf(found.version, request.query.format)
      const fileName = `${found.model.name ?? found.model.id}-v${found.version.version}${extension && `.${extension}`}`
      return sendBlob(request, reply, storage.downloads({ size, sha256, fileName }))
    },
  )
}

/** Returns the upload that a form refers to. */
const finishedUpload = (fields: Readonly<Record<string, string>>) => {
  const { upload, upload_size: size } = readUploadFields(fields)
  if (upload === undefined || size === undefined) {
    throw badRequest("The form field 'upload' requires 'upload_size': the size of the whole file in bytes.")
  }
  return { sha256: upload.slice('sha256:'.length), size }
}
