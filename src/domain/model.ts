import { badRequest } from './errors.ts'

export const FRAMEWORKS = ['pytorch', 'tensorflow', 'xgboost', 'sklearn'] as const
export const VERSION_FORMATS = ['pytorch', 'tensorflow', 'onnx', 'sklearn', 'xgboost'] as const
export const DOWNLOAD_FORMATS = ['pytorch', 'onnx', 'tflite', 'coreml'] as const

export type Framework = (typeof FRAMEWORKS)[number]
export type VersionFormat = (typeof VERSION_FORMATS)[number]
export type DownloadFormat = (typeof DOWNLOAD_FORMATS)[number]

export const MODEL_DESCRIPTION_MAX = 1000

/** What the bytes of an upload were recognized as, whatever its name says. */
export interface RecognizedContent {
  /** With its article, for messages: 'an ONNX model'. */
  readonly title: string
  /** Formats whose files may look so. */
  readonly versions: readonly VersionFormat[]
  /** Whether the first of `versions` follows from the content alone. */
  readonly decides: boolean
  /** Whether training jobs can aggregate it; else what would work. */
  readonly readable: boolean
  readonly advice: string
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, VersionFormat>> = {
  pt: 'pytorch',
  pth: 'pytorch',
  safetensors: 'pytorch',
  h5: 'tensorflow',
  keras: 'tensorflow',
  onnx: 'onnx',
  pkl: 'sklearn',
  joblib: 'sklearn',
  ubj: 'xgboost',
}

export const extensionOf = (fileName: string): string => /\.([A-Za-z0-9]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? ''

/**
 * The format of an upload: the field when given, else the content, else the extension, else the model's framework.
 * A named format that contradicts recognized content is kept, with a warning for the uploader; so is content that
 * training jobs cannot aggregate.
 */
export const formatOfUpload = (upload: {
  readonly named: VersionFormat | undefined
  readonly content: RecognizedContent | null
  readonly fileName: string
  readonly framework: Framework
}): { format: VersionFormat; warnings: string[] } => {
  const { named, content, fileName, framework } = upload
  const fromContent = content?.decides ? content.versions[0] : undefined
  const format = named ?? fromContent ?? FORMAT_OF_EXTENSION[extensionOf(fileName)] ?? framework
  const contradicts = named !== undefined && content !== null && !content.versions.includes(named)
  return {
    format,
    warnings: [
      ...(contradicts ? [`The format was given as ${named}, but the file is ${content.title}.`] : []),
      ...(content === null || content.readable ? [] : [notAggregable(content)]),
    ],
  }
}

/** Said when such a file is uploaded, and when a training job is started on it. */
export const notAggregable = ({ title, advice }: Pick<RecognizedContent, 'title' | 'advice'>): string =>
  `The file is ${title}: devices can be given it, but training jobs cannot aggregate it. ${advice}`

const SEMANTIC = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

/** semver.org 2.0.0, without leading `v`. */
export const requireSemantic = (label: string): void => {
  if (label.length > 100 || !SEMANTIC.test(label)) {
    throw badRequest(`version_label must be a semantic version such as 1.4.0, got '${label.slice(0, 100)}'.`)
  }
}

/** Version n answers to its own label, or to `n.0.0` when the upload carried none. */
export const labelOf = (version: number, ownLabel: string | null): string => ownLabel ?? `${version}.0.0`

export const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string): boolean => UUID.test(text)
