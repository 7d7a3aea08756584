import { Type } from 'typebox'
import {
  DOWNLOAD_FORMATS,
  FRAMEWORKS,
  MODEL_DESCRIPTION_MAX,
  MODEL_NAME,
  VERSION_FORMATS,
} from '../../../domain/model.ts'
import { Count, Envelope, Nullable, OneOf, Page, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'

const Framework = OneOf(FRAMEWORKS)
const Format = OneOf(VERSION_FORMATS)
const Description = Type.String({ maxLength: MODEL_DESCRIPTION_MAX })

export const CreateModelBody = Type.Object({
  name: Type.Optional(
    Type.String({
      pattern: MODEL_NAME.source,
      'x-extension': true,
      description: 'Unique in the organization, usable as model_id',
    }),
  ),
  framework: Type.Optional(Framework),
  framework_version: Type.Optional(Type.String({ maxLength: 100 })),
  description: Type.Optional(Description),
  is_baseline: Type.Optional(Type.Boolean()),
})

const modelFields = {
  id: Uuid,
  org_id: Nullable(Type.String()),
  name: Nullable(Type.String()),
  round_id: Nullable(Uuid),
  model_path: Nullable(Type.String()),
  model_size_bytes: Nullable(Count),
  model_hash: Nullable(Type.String({ description: 'sha256:<hex>' })),
  framework: Framework,
  framework_version: Type.String(),
  accuracy: Nullable(Type.Number()),
  loss: Nullable(Type.Number()),
  is_baseline: Type.Boolean(),
  description: Type.String(),
  created_at: Timestamp,
}

export const Model = Type.Object(modelFields)

export const ModelDetail = Type.Object({
  ...modelFields,
  versions: Type.Array(
    Type.Object({
      version: Type.Integer({ minimum: 1 }),
      version_label: Type.String(),
      format: Format,
      model_size_bytes: Count,
      model_hash: Type.String(),
      uploaded_at: Timestamp,
    }),
  ),
})

export const ListModelsQuery = Type.Object({
  ...Page({ max: 100, default: 20 }),
  framework: Type.Optional(Framework),
  is_baseline: Type.Optional(Type.Boolean()),
})

export const ModelList = Type.Object({ models: Type.Array(Model), ...Envelope })

export const ModelParams = Type.Object({ model_id: Type.String({ description: 'A model id, or a model name' }) })

/** The fields beside `file` in the multipart body, or instead of it. */
export const UploadFields = Type.Object({
  format: Type.Optional(Format),
  description: Type.Optional(Description),
  version_label: Type.Optional(
    Type.String({ 'x-extension': true, description: 'Semantic version; n.0.0 when absent' }),
  ),
  upload: Type.Optional(
    Type.String({
      pattern: '^sha256:[0-9a-f]{64}$',
      'x-extension': true,
      description: 'Instead of file, sha256:<hex> of what was sent to /uploads',
    }),
  ),
  upload_size: Type.Optional(
    Type.Integer({ minimum: 1, 'x-extension': true, description: 'With upload, its Upload-Length' }),
  ),
  file_name: Type.Optional(Type.String({ 'x-extension': true, description: 'With upload, what the file is called' })),
})

export const ModelVersion = Type.Object({
  model_id: Uuid,
  version: Type.Integer({ minimum: 1 }),
  version_label: Type.String(),
  format: Format,
  model_path: Type.String(),
  model_size_bytes: Count,
  model_hash: Type.String(),
  description: Type.String(),
  uploaded_at: Timestamp,
  warnings: Type.Array(Type.String()),
})

export const DownloadParams = Type.Object({
  model_id: Type.String(),
  version: Type.String({ description: 'An integer from 1, a semantic version, or latest' }),
})

export const DownloadQuery = Type.Object({ format: Type.Optional(OneOf(DOWNLOAD_FORMATS)) })
