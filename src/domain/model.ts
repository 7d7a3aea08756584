import { badRequest } from './errors.ts'

export const FRAMEWORKS = ['pytorch', 'tensorflow', 'xgboost', 'sklearn'] as const
export const VERSION_FORMATS = ['pytorch', 'tensorflow', 'onnx', 'sklearn', 'xgboost'] as const
export const DOWNLOAD_FORMATS = ['pytorch', 'onnx', 'tflite', 'coreml'] as const

export type Framework = (typeof FRAMEWORKS)[number]
export type VersionFormat = (typeof VERSION_FORMATS)[number]
export type DownloadFormat = (typeof DOWNLOAD_FORMATS)[number]

export const MODEL_DESCRIPTION_MAX = 1000

/** What the bytes of a file were recognised as, whatever its name says. */
export type Container =
  | 'safetensors'
  | 'torch-zip'
  | 'torch-legacy'
  | 'npz'
  | 'npy'
  | 'raw'
  | 'onnx'
  | 'hdf5'
  | 'gguf'
  | 'pickle'

const FORMAT_OF_CONTAINER: Readonly<Partial<Record<Container, VersionFormat>>> = {
  'torch-zip': 'pytorch',
  'torch-legacy': 'pytorch',
  safetensors: 'pytorch',
  onnx: 'onnx',
  hdf5: 'tensorflow',
  pickle: 'sklearn',
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

/** Containers that can hold each format; a safetensors file may come from any framework that has arrays. */
const CONTAINERS_OF_FORMAT: Readonly<Record<VersionFormat, readonly Container[]>> = {
  pytorch: ['torch-zip', 'torch-legacy', 'safetensors', 'npz', 'npy', 'raw', 'pickle'],
  tensorflow: ['hdf5', 'safetensors', 'npz', 'npy', 'raw'],
  onnx: ['onnx'],
  sklearn: ['pickle', 'npz', 'npy', 'safetensors', 'raw'],
  xgboost: ['pickle', 'npz', 'npy', 'raw'],
}

export const extensionOf = (fileName: string): string => /\.([A-Za-z0-9]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? ''

/**
 * The format of an upload: the field when given, else the content, else the extension, else the model's framework.
 * A named format that contradicts recognised content is kept, with a warning for the uploader.
 */
export const formatOfUpload = (upload: {
  readonly named: VersionFormat | undefined
  readonly container: Container | null
  readonly fileName: string
  readonly framework: Framework
}): { format: VersionFormat; warnings: string[] } => {
  const { named, container, fileName, framework } = upload
  if (named === undefined) {
    const fromContent = container === null ? undefined : FORMAT_OF_CONTAINER[container]
    return { format: fromContent ?? FORMAT_OF_EXTENSION[extensionOf(fileName)] ?? framework, warnings: [] }
  }
  const contradicts = container !== null && !CONTAINERS_OF_FORMAT[named].includes(container)
  return {
    format: named,
    warnings: contradicts ? [`The format was given as ${named}, but the bytes are those of a ${container} file.`] : [],
  }
}

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
