import type { Readable } from 'node:stream'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { Bytes } from '../../../platform/http/wire.schema.ts'
import { AppendHeaders, Offset, OffsetQuery, UploadParams } from './uploads.schema.ts'
import type { UploadsService } from './uploads.service.ts'

const BYTES = 'application/octet-stream'

/** Bodies arrive as streams here, so these routes must have their own scope. */
export const uploadsRoutes = (app: App, uploads: UploadsService): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

  app.head(
    '/api/v1/uploads/:sha256',
    {
      schema: {
        operationId: 'getUploadOffset',
        summary: 'Get the progress of an upload',
        description:
          'The number of bytes received so far, which may be 0. An unfinished upload is kept for 24 hours after its last part.',
        params: UploadParams,
        querystring: OffsetQuery,
        response: { 200: Offset },
      },
      config: { access: 'models:write' },
    },
    async (request, reply) => {
      const { sha256 } = request.params
      const offset = await uploads.offset(callerOf(request), { sha256, size: request.query.size })
      return reply.header('upload-offset', String(offset)).send(null)
    },
  )

  app.patch(
    '/api/v1/uploads/:sha256',
    {
      schema: {
        operationId: 'appendToUpload',
        summary: 'Append to an upload',
        description:
          'Send the rest of a file, or part of it. uploadVersion then creates a version from the finished upload by its SHA-256.',
        consumes: [BYTES],
        params: UploadParams,
        headers: AppendHeaders,
        body: Bytes,
        response: { 204: Offset },
      },
      config: { access: 'models:write', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const { headers, body } = request
      const type = headers['content-type'] ?? 'none'
      if (type.split(';', 1)[0]!.trim().toLowerCase() !== BYTES) {
        throw badRequest(`The Content-Type must be ${BYTES}, got ${type.slice(0, 100)}.`)
      }
      const file = { sha256: request.params.sha256, size: Number(headers['upload-length']) }
      // Reads the rest of a body that is refused midway, so that its sender sees why.
      const source = (body as Readable).iterator({ destroyOnReturn: false })
      try {
        const offset = await uploads.append(caller, file, Number(headers['upload-offset']), source)
        return reply.code(204).header('upload-offset', String(offset)).send(null)
      } catch (error) {
        const isConflict = error instanceof ServiceError && error.code === 'conflict'
        if (isConflict) reply.header('upload-offset', String(await uploads.offset(caller, file)))
        throw error
      }
    },
  )
}
