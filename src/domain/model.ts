import { badRequest } from './errors.ts'
import { ownEntry } from './own-entry.ts'

export const FRAMEWORKS = ['pytorch', 'tensorflow', 'xgboost', 'sklearn'] as const
export const VERSION_FORMATS = ['pytorch', 'tensorflow', 'onnx', 'sklearn', 'xgboost'] as const
export const DOWNLOAD_FORMATS = ['pytorch', 'onnx', 'tflite', 'coreml'] as const

/** Target formats of conversions, and their file extensions; the first is used for downloads. */
export const CONVERTED_FORMATS = ['onnx', 'tflite', 'coreml'] as const
export const CONVERTED_ENDINGS = { onnx: ['onnx'], tflite: ['tflite', 'litert'], coreml: ['mlmodel'] } as const
export const CONVERSION_STATES = ['pending', 'running', 'ready', 'failed'] as const

export type Framework = (typeof FRAMEWORKS)[number]
export type VersionFormat = (typeof VERSION_FORMATS)[number]
export type DownloadFormat = (typeof DOWNLOAD_FORMATS)[number]
export type ConvertedFormat = (typeof CONVERTED_FORMATS)[number]
export type ConversionState = (typeof CONVERSION_STATES)[number]

export const MODEL_DESCRIPTION_MAX = 1000

/** What the bytes of an upload were recognized as, regardless of the file name. */
export interface RecognizedContent {
  /** With an article, for messages: 'an ONNX model'. */
  readonly title: string
  /** Formats whose files may have this content. */
  readonly versions: readonly VersionFormat[]
  /** Whether the content alone implies the first of `versions`. */
  readonly decides: boolean
  /** Whether training jobs can aggregate it; if not, `advice` suggests what would work. */
  readonly readable: boolean
  readonly advice: string
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, VersionFormat>> = {
  pt: 'pytorch',
  pt2: 'pytorch',
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

/** Returns a file's extension. Keras only opens weights named `*.weights.h5`. */
export const endingOf = (fileName: string): string =>
  fileName.toLowerCase().endsWith('.weights.h5') ? 'weights.h5' : extensionOf(fileName)

/** Files whose graph can be combined with other files' weights. */
const ARCHITECTURES = ['pt2', 'onnx', 'keras']
/** Extensions of files that always or usually contain a graph. */
const GRAPHS = [...ARCHITECTURES, 'h5', 'hdf5', 'pkl', 'pickle', 'joblib', 'ubj', 'json']

/** True if, by its name, the weights of other versions can be put into its graph. */
export const isArchitecture = (fileName: string): boolean => ARCHITECTURES.includes(extensionOf(fileName))

/** True if, by its name, it can be converted in the background without another file. */
export const mayHaveGraph = (fileName: string): boolean => GRAPHS.includes(endingOf(fileName))

/** True if the file has this format as uploaded. */
export const isAlready = (
  format: DownloadFormat,
  version: { readonly format: VersionFormat; readonly fileName: string },
): boolean => {
  const endings: Readonly<Record<string, readonly string[]>> = CONVERTED_ENDINGS
  return format === version.format || (endings[format]?.includes(extensionOf(version.fileName)) ?? false)
}

/**
 * Determines the format of an upload: the field if given, otherwise from the content, the extension, or the model's framework.
 * If a given format contradicts the content, or training jobs cannot aggregate the content, the uploader gets a warning.
 */
export const formatOfUpload = (upload: {
  readonly named: VersionFormat | undefined
  readonly content: RecognizedContent | null
  readonly fileName: string
  readonly framework: Framework
}): { format: VersionFormat; warnings: string[] } => {
  const { named, content, fileName, framework } = upload
  const fromContent = content?.decides ? content.versions[0] : undefined
  const format = named ?? fromContent ?? ownEntry(FORMAT_OF_EXTENSION, extensionOf(fileName)) ?? framework
  const contradicts = named !== undefined && content !== null && !content.versions.includes(named)
  return {
    format,
    warnings: [
      ...(contradicts ? [`The format was given as ${named}, but the file is ${content.title}.`] : []),
      ...(content === null || content.readable ? [] : [notAggregable(content)]),
    ],
  }
}

/** Shown when such a file is uploaded, and when a training job is started with it. */
export const notAggregable = ({ title, advice }: Pick<RecognizedContent, 'title' | 'advice'>): string =>
  `The file is ${title}: it can be delivered to devices, but training jobs cannot average it. ${advice}`

const SEMANTIC = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

const MAX_LABEL = 100
export const SEMANTIC_VERSION = `a semantic version such as 1.4.0, of at most ${MAX_LABEL} characters`

/** semver.org 2.0.0, without a leading `v`. */
export const requireSemantic = (label: string): void => {
  if (label.length > MAX_LABEL || !SEMANTIC.test(label)) {
    const got = label.length > MAX_LABEL ? `${label.length} characters` : `'${label}'`
    throw badRequest(`version_label must be ${SEMANTIC_VERSION}; got ${got}.`)
  }
}

/** Returns the label of version n: its own, or `n.0.0` if the upload had none. */
export const labelOf = (version: number, ownLabel: string | null): string => ownLabel ?? `${version}.0.0`

export const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string): boolean => UUID.test(text)
