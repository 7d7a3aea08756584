// All source and target formats of conversions. A converter is a folder here and a row.
import { badRequest, type ServiceError } from '../domain/errors.ts'
import { detectFormat, isWeightFormat, titleOf } from '../tensors/detect.ts'
import type { DetectedFormat } from '../tensors/formats.ts'
import type { ByteSource } from '../tensors/weight-file.ts'
import { readZip, startsLikeZip } from '../tensors/zip.ts'
import { isHdf5Model } from './from-keras/keras-file.ts'
import { kerasToOnnx } from './from-keras/keras-to-onnx.ts'
import { sklearnToOnnx } from './from-sklearn/sklearn-to-onnx.ts'
import { unreadableModel } from './from-sklearn/unreadable-files.ts'
import { HOW_TO_EXPORT, isTorchScript } from './from-torch/read-archive.ts'
import { torchToOnnx } from './from-torch/torch-to-onnx.ts'
import { xgboostToOnnx } from './from-xgboost/xgboost-to-onnx.ts'
import type { OnnxModel } from './onnx/model.ts'
import { readOnnx } from './onnx/read-onnx.ts'
import { withoutBfloat16 } from './onnx/without-bfloat16.ts'
import { writeOnnx } from './onnx/write-onnx.ts'
import type { Rows } from './quantize/generate-samples.ts'
import { onnxWithWeights } from './replaced-weights.ts'
import { onnxToCoreml } from './to-coreml/onnx-to-coreml.ts'
import { onnxToTflite } from './to-tflite/onnx-to-tflite.ts'

export interface ConverterOptions {
  /** The shape of the first input, including the batch. */
  readonly inputShape?: readonly number[]
}

/** What a source is recognized by. */
export interface Sample {
  readonly source: ByteSource
  readonly detected: DetectedFormat | null
  /** Names of a zip archive's members; empty for other files. */
  readonly members: readonly string[]
  readonly fileName: string
}

export interface OnnxSource {
  readonly model: OnnxModel
  readonly notes: readonly string[]
  /** By input, rows like those of the training data; absent if the file does not describe them. */
  readonly typicalRows?: Readonly<Record<string, Rows>>
}

export interface SourceFormat {
  readonly name: string
  /** With its article, for messages: 'an ONNX model'. */
  readonly title: string
  /** File name extensions, without the dot. */
  readonly endings: readonly string[]
  recognize(sample: Sample): boolean
  /** Returns the model as ONNX, with notes for the user. Throws bad_request saying what would work. */
  toOnnx(source: ByteSource, options: ConverterOptions): OnnxSource
  /** Like `toOnnx`, with the weights of another file of the same architecture, matched by name. */
  withWeights?(
    source: ByteSource,
    weights: ByteSource,
    options: ConverterOptions,
  ): { readonly model: OnnxModel; readonly notes: readonly string[] }
}

export interface TargetFormat {
  readonly name: string
  readonly title: string
  /** The first one is used for new files. */
  readonly endings: readonly string[]
  fromOnnx(
    model: OnnxModel,
    options: ConverterOptions,
  ): { readonly bytes: Uint8Array; readonly notes: readonly string[] }
}

/** In the order of the checks. */
export const SOURCES: readonly SourceFormat[] = [
  {
    name: 'onnx',
    title: 'an ONNX model',
    endings: ['onnx'],
    recognize: ({ detected }) => detected === 'onnx',
    toOnnx: (source) => ({ model: readOnnx(source.read(0, source.size)), notes: [] }),
    withWeights: (source, weights) => onnxWithWeights(readOnnx(source.read(0, source.size)), weights),
  },
  {
    name: 'pytorch',
    title: 'an exported PyTorch program',
    endings: ['pt2'],
    recognize: ({ detected, members }) => detected === 'torch-program' || isTorchScript(members),
    toOnnx: torchToOnnx,
    withWeights: (source, weights, options) => torchToOnnx(source, { ...options, weights }),
  },
  {
    name: 'keras',
    title: 'a Keras model',
    endings: ['keras', 'h5'],
    recognize: ({ source, detected }) =>
      detected === 'keras' || ((detected === 'hdf5' || detected === 'keras-weights') && isHdf5Model(source)),
    toOnnx: kerasToOnnx,
    withWeights: (source, weights, options) => kerasToOnnx(source, { ...options, weights }),
  },
  {
    name: 'xgboost',
    title: 'an XGBoost model',
    endings: ['ubj', 'json'],
    recognize: ({ detected }) => detected === 'xgboost-ubj' || detected === 'xgboost-json',
    toOnnx: xgboostToOnnx,
  },
  {
    name: 'sklearn',
    title: 'a scikit-learn model',
    endings: ['pkl', 'joblib'],
    recognize: ({ detected }) => detected === 'pickle' || detected === 'joblib',
    toOnnx: sklearnToOnnx,
  },
]

export const TARGETS = [
  {
    name: 'onnx',
    title: 'ONNX',
    endings: ['onnx'],
    fromOnnx: (given) => {
      const { model, notes } = withoutBfloat16(given)
      return { bytes: writeOnnx(model), notes }
    },
  },
  {
    name: 'tflite',
    title: 'TensorFlow Lite',
    endings: ['tflite', 'litert'],
    fromOnnx: onnxToTflite,
  },
  {
    name: 'coreml',
    title: 'Core ML',
    endings: ['mlmodel'],
    fromOnnx: onnxToCoreml,
  },
] as const satisfies readonly TargetFormat[]

/** Formats whose graph can take the weights of another file. */
const ARCHITECTURES = SOURCES.filter(({ withWeights }) => withWeights !== undefined)

const targets: readonly TargetFormat[] = TARGETS

const endingsOf = (formats: readonly { readonly endings: readonly string[] }[]): string =>
  [...new Set(formats.flatMap(({ endings }) => endings))].map((ending) => `.${ending}`).join(', ')

/** Detects a source format, mostly by content; null if the file cannot be converted by itself. */
export const sourceFormatOf = (source: ByteSource, fileName: string): SourceFormat | null => {
  const head = source.read(0, Math.min(4, source.size))
  const members = startsLikeZip(head) ? readZip(source).map(({ name }) => name) : []
  const sample = { source, detected: detectFormat(source), members, fileName }
  return SOURCES.find(({ recognize }) => recognize(sample)) ?? null
}

/** Explains why a file that is not a source cannot be converted, and what would work. */
export const notASource = (source: ByteSource, fileName: string): ServiceError => {
  const unreadable = unreadableModel(source)
  if (unreadable !== null) return badRequest(`${fileName} is ${unreadable}`)
  if (source.size === 0) return badRequest(`${fileName} is empty.`)
  const detected = detectFormat(source)
  const what = `${fileName} is ${titleOf(detected)}`
  return badRequest(
    isWeightFormat(detected)
      ? `${what}, which has weights but not the graph of the model. It can be converted together with an architecture of the ` +
          `same model (${endingsOf(ARCHITECTURES)}): svc convert --architecture, or one version of the model in the catalog.` +
          (detected?.startsWith('torch') ? ` ${HOW_TO_EXPORT}` : '')
      : `${what}, which is not a model that can be converted. Models are converted from ${endingsOf(SOURCES)}.`,
  )
}

/** Throws bad_request listing the available targets. */
export const targetFormatOf = (name: string): TargetFormat => {
  const found = targets.find((target) => target.name === name)
  if (found !== undefined) return found
  throw badRequest(`Models are converted to ${targets.map((target) => target.name).join(', ')}, not to '${name}'.`)
}

/** The name of a converted file: `model.onnx` -> `model.tflite`. */
export const resultName = (fileName: string, { endings }: TargetFormat): string =>
  `${fileName.replace(/\.[A-Za-z0-9]+$/, '')}.${endings[0]!}`
