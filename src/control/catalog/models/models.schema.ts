import { Type } from 'typebox'
import {
  CONVERSION_STATES,
  CONVERTED_FORMATS,
  DOWNLOAD_FORMATS,
  FRAMEWORKS,
  MODEL_DESCRIPTION_MAX,
  MODEL_NAME,
  VERSION_FORMATS,
} from '../../../domain/model.ts'
import {
  MAX_METADATA_CHANGES,
  MAX_METADATA_ENTRIES,
  MAX_METADATA_JSON,
  MAX_METADATA_KEY,
  MAX_METADATA_TEXT,
  type MetadataValue,
  readMetadata,
} from '../../../domain/version-metadata.ts'
import { parseJsonField } from '../../../platform/http/input.ts'
import { parseFields } from '../../../platform/http/validation.ts'
import {
  AnyObject,
  Body,
  Count,
  Envelope,
  Matching,
  Nullable,
  OneOf,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { examples } from '../catalog.examples.ts'

const CONVERTED_LIST = `^(${CONVERTED_FORMATS.join('|')})(,(${CONVERTED_FORMATS.join('|')}))*$`
const Framework = OneOf(FRAMEWORKS, { title: 'Framework', description: 'The framework of a model' })
const Format = OneOf(VERSION_FORMATS, { title: 'VersionFormat', description: "The format of a version's file" })
const Description = Type.String({ maxLength: MODEL_DESCRIPTION_MAX, description: 'Free text' })

export const CreateModelBody = Body('NewModel', 'A model to create', examples.newModel, {
  name: Type.Optional(
    Matching(MODEL_NAME, '1 to 128 letters, digits, and ._-, a letter or digit first', {
      description: 'Unique in the organization, usable as model_id',
    }),
  ),
  framework: Type.Optional(Framework),
  framework_version: Type.Optional(Type.String({ maxLength: 100, description: 'Such as 2.4.1' })),
  description: Type.Optional(Description),
  is_baseline: Type.Optional(Type.Boolean({ description: 'Whether other models are compared with it; default false' })),
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

export const Model = Body('Model', 'A model in the catalog', examples.model, modelFields)

export const ModelChanges = Body('ModelChanges', 'Changes of a model', examples.modelChanges, {
  description: Description,
})

const TrainedBy = Nullable(
  Part('VersionOrigin', 'The training round that the version came from; null for an upload', {
    job_id: Nullable(Uuid),
    round_id: Uuid,
    round_number: Count,
    metrics: Type.Record(Type.String(), Type.Number(), { description: 'Metrics of the round: loss, accuracy' }),
    receipt_path: Type.String({ description: 'Path of the receipt, which svc train verify replays' }),
  }),
)

const ConvertedFile = Part('ConvertedFile', 'A version in another format', {
  format: OneOf(CONVERTED_FORMATS),
  state: OneOf(CONVERSION_STATES),
  reason: Nullable(Type.String({ description: 'Why it failed' })),
  model_size_bytes: Nullable(Count),
  model_hash: Nullable(Type.String({ description: 'sha256:<hex>; null until it is ready' })),
})

const Formats = Type.Array(ConvertedFile, {
  description: 'Conversions to other formats; downloadVersion serves those that are ready',
})

const METADATA =
  `at most ${MAX_METADATA_ENTRIES} entries and ${MAX_METADATA_JSON} characters of JSON; keys of 1 to ${MAX_METADATA_KEY} characters on one ` +
  `line; values are text of at most ${MAX_METADATA_TEXT} characters, finite numbers, or true or false`

const VALUES = ['string', 'number', 'boolean']

const metadataOf = (description: string, maxProperties = MAX_METADATA_ENTRIES, types: readonly string[] = VALUES) => ({
  type: 'object',
  description,
  additionalProperties: { type: types },
  maxProperties,
})

const StoredMetadata = Type.Unsafe<Record<string, MetadataValue>>(
  metadataOf('What was recorded with the version, such as metrics and parameters, by key'),
)

export const ListedVersion = Part('ListedVersion', 'A version of a model in a list', {
  version: Type.Integer({ minimum: 1 }),
  version_label: Type.String(),
  format: Format,
  model_size_bytes: Count,
  model_hash: Type.String(),
  uploaded_at: Timestamp,
  metadata: StoredMetadata,
  formats: Formats,
  trained_by: TrainedBy,
  aliases: Type.Array(Type.String(), { description: 'Aliases that currently point to this version' }),
})

export const ModelDetail = Body('ModelDetail', 'A model with its versions', examples.modelDetail, {
  ...modelFields,
  versions: Type.Array(ListedVersion),
  delivered_versions: Type.Array(Type.Integer({ minimum: 1 }), {
    description: 'Numbers of the versions that rollouts, deployments, and experiments deliver to devices now',
  }),
})

export const ListModelsQuery = Type.Object({
  ...Page({ max: 100, default: 20 }),
  q: Type.String({ maxLength: 255, default: '', description: 'Part of the name, case-insensitive' }),
  framework: Type.Optional(Framework),
  is_baseline: Type.Optional(Type.Boolean()),
  round_models: Type.Optional(
    Type.Boolean({
      description: 'false omits models created by training rounds; default true',
    }),
  ),
})

export const ModelList = Body('ModelList', 'A page of models', examples.modelList, {
  models: Type.Array(Model),
  ...Envelope,
})

export const ModelId = Parameter('ModelId', Type.String({ description: 'Id or name of a model' }))
export const ModelParams = Type.Object({ model_id: ModelId })

/** The fields in addition to `file` in the multipart body, or instead of it. */
export const UploadFields = Body(
  'NewVersion',
  'A version to upload: a file, or a finished upload',
  examples.newVersion,
  {
    format: Type.Optional(Format),
    description: Type.Optional(Description),
    version_label: Type.Optional(
      Type.String({ description: 'Semantic version; default n.0.0, or the next free major if that is taken' }),
    ),
    formats: Type.Optional(
      Matching(CONVERTED_LIST, `formats with commas between them: ${CONVERTED_FORMATS.join(', ')}`, {
        maxLength: 100,
        description: `Formats to convert it to, separated by commas: ${CONVERTED_FORMATS.join(', ')}`,
      }),
    ),
    metadata: Type.Optional(
      AnyObject(metadataOf(`JSON, such as {"accuracy": 0.91}: what to record with the version; ${METADATA}`)),
    ),
    upload: Type.Optional(
      Matching('^sha256:[0-9a-f]{64}$', 'sha256: and 64 lowercase hex digits', {
        description: 'sha256:<hex> of a finished upload; instead of file',
      }),
    ),
    upload_size: Type.Optional(Type.Integer({ minimum: 1, description: 'Only with upload: its Upload-Length' })),
    file_name: Type.Optional(Type.String({ description: 'Only with upload: the name of the file' })),
  },
)

/** Returns the typed fields of the form. */
export const readUploadFields = ({ metadata, ...fields }: Readonly<Record<string, string>>) => ({
  ...parseFields(UploadFields, fields),
  metadata: metadata === undefined ? {} : readMetadata(parseJsonField('metadata', metadata)),
})

export const VersionChanges = Body('VersionChanges', 'Changes of a version', examples.versionChanges, {
  metadata: AnyObject(
    metadataOf(
      `The keys to add, change, or, with null, delete; others are kept. Afterwards: ${METADATA}`,
      MAX_METADATA_CHANGES,
      [...VALUES, 'null'],
    ),
  ),
})

export const ModelVersion = Body('ModelVersion', 'An uploaded version of a model', examples.modelVersion, {
  model_id: Uuid,
  version: Type.Integer({ minimum: 1 }),
  version_label: Type.String(),
  format: Format,
  model_path: Type.String(),
  model_size_bytes: Count,
  model_hash: Type.String(),
  description: Type.String(),
  uploaded_at: Timestamp,
  metadata: StoredMetadata,
  warnings: Type.Array(Type.String()),
  formats: Formats,
})

export const VersionParams = Type.Object({
  model_id: ModelId,
  version: Type.String({ description: 'An integer from 1, a semantic version, latest, or an alias' }),
})
export const DownloadParams = VersionParams

export const DownloadQuery = Type.Object({ format: Type.Optional(OneOf(DOWNLOAD_FORMATS)) })
