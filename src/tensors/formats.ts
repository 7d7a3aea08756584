import type { FormatDescriptor, Sample } from './format-descriptor.ts'
import { readHdf5 } from './hdf5.ts'
import { plainPickle, startOfCompressed } from './joblib-compression.ts'
import { readNpy, startsLikeNpy } from './npy.ts'
import { readOnnx, startsLikeOnnx } from './onnx.ts'
import { startsLikePickle, walkPickle } from './pickle-walk.ts'
import { readRaw } from './raw.ts'
import { looksLikeCsv, looksLikeJson } from './recognized-text.ts'
import { readSafetensors, startsLikeSafetensors } from './safetensors.ts'
import { readSklearn } from './sklearn.ts'
import { readTorchLegacy, startsLikeTorchLegacy } from './torch-legacy.ts'
import type { TensorPlaces } from './weight-file.ts'
import { planNpy } from './write-npz.ts'
import { planRaw } from './write-raw.ts'
import { planSafetensors } from './write-safetensors.ts'
import { ARRAYS, ZIP_FORMATS } from './zip-formats.ts'

const startsWith =
  (sign: string, at = 0) =>
  ({ head }: Sample): boolean =>
    head.length >= at + sign.length && [...sign].every((char, i) => head[at + i] === char.charCodeAt(0))

const HDF5 = '\x89HDF\r\n\x1a\n'
/** The groups that save_weights() creates, as listed in the name heap of the root group. */
const KERAS_GROUPS = /^(?!.*\0model_weights\0)(?=.*\0vars\0).*\0(layers|_layer_checkpoint_dependencies)\0/s
const CONVERTED = 'Train with the weights that it was converted from, and convert the result.'
const TREES = 'Trees cannot be averaged; strategies xgb_bagging and xgb_cyclic combine them.'

/** Every recognized kind of content, in the order of the checks. To add a format, add a row and its reader. */
export const FORMATS = {
  ...ZIP_FORMATS,
  npy: {
    title: 'a NumPy .npy file',
    extensions: ['npy'],
    read: (source) => ({ tensors: [readNpy(source)], members: [] }),
    plan: planNpy,
    versions: ARRAYS,
    decides: false,
    sniff: ({ head }) => startsLikeNpy(head),
  },
  'torch-legacy': {
    title: 'a PyTorch .pt file in the legacy format',
    extensions: ['pt', 'pth'],
    read: readTorchLegacy,
    writtenAs: 'torch-zip',
    versions: ['pytorch'],
    decides: true,
    sniff: ({ head }) => startsLikeTorchLegacy(head),
  },
  'keras-weights': {
    title: 'a Keras weights file',
    // Keras opens weight files with this extension only.
    extensions: ['weights.h5'],
    read: readHdf5,
    mayBeOpaque: true,
    versions: ['tensorflow'],
    decides: true,
    sniff: (sample) => startsWith(HDF5)(sample) && KERAS_GROUPS.test(String.fromCharCode(...sample.head)),
  },
  hdf5: {
    title: 'an HDF5 file',
    extensions: ['h5', 'hdf5'],
    read: readHdf5,
    mayBeOpaque: true,
    versions: ['tensorflow'],
    decides: true,
    sniff: startsWith(HDF5),
  },
  gguf: {
    title: 'a GGUF file',
    extensions: ['gguf'],
    instead: CONVERTED,
    versions: [],
    decides: false,
    sniff: startsWith('GGUF'),
  },
  tflite: {
    title: 'a TensorFlow Lite model',
    extensions: ['tflite'],
    instead: CONVERTED,
    versions: ['tensorflow'],
    decides: true,
    sniff: startsWith('TFL3', 4),
  },
  'xgboost-ubj': {
    title: 'an XGBoost model in UBJSON',
    extensions: ['ubj'],
    instead: TREES,
    versions: ['xgboost'],
    decides: true,
    // An object whose first key is the learner; the key is preceded by its length, an integer of any width.
    sniff: ({ head }) => /^\{[UilLI][^a-z]{1,8}learner/.test(String.fromCharCode(...head.subarray(0, 24))),
  },
  joblib: {
    title: 'a joblib file',
    extensions: ['joblib'],
    read: readSklearn,
    mayBeOpaque: true,
    check: (source) => walkPickle(plainPickle(source)),
    versions: ['sklearn', 'xgboost'],
    decides: true,
    // pickle.load cannot open it, so it keeps its extension. Arrays without objects follow the name of a joblib class.
    sniff: ({ head }) => {
      const compressed = startOfCompressed(head)
      if (compressed !== null) return startsLikePickle(compressed)
      return startsLikePickle(head) && /joblib\.numpy_pickle/.test(String.fromCharCode(...head))
    },
  },
  gzip: {
    title: 'a gzip file',
    extensions: ['gz'],
    instead: 'Unpack it first.',
    versions: [],
    decides: false,
    sniff: startsWith('\x1f\x8b\x08'),
  },
  png: {
    title: 'a PNG image',
    extensions: ['png'],
    versions: [],
    decides: false,
    sniff: startsWith('\x89PNG\r\n\x1a\n'),
  },
  jpeg: {
    title: 'a JPEG image',
    extensions: ['jpg', 'jpeg'],
    versions: [],
    decides: false,
    sniff: ({ head }) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff && (head[3] ?? 0) >= 0xc0,
  },
  gif: {
    title: 'a GIF image',
    extensions: ['gif'],
    versions: [],
    decides: false,
    sniff: (sample) => startsWith('GIF87a')(sample) || startsWith('GIF89a')(sample),
  },
  pickle: {
    title: 'a plain Python pickle',
    extensions: ['pkl'],
    read: readSklearn,
    mayBeOpaque: true,
    check: walkPickle,
    versions: ['sklearn', 'pytorch', 'xgboost'],
    decides: true,
    sniff: ({ head }) => startsLikePickle(head),
  },
  safetensors: {
    title: 'a safetensors file',
    extensions: ['safetensors'],
    read: readSafetensors,
    plan: planSafetensors,
    versions: ARRAYS,
    decides: true,
    sniff: ({ head, size }) => startsLikeSafetensors(head, size),
  },
  onnx: {
    title: 'an ONNX model',
    extensions: ['onnx'],
    read: readOnnx,
    mayBeOpaque: true,
    versions: ['onnx'],
    decides: true,
    sniff: ({ head }) => startsLikeOnnx(head),
  },
  'xgboost-json': {
    title: 'an XGBoost model in JSON',
    extensions: ['json'],
    instead: TREES,
    versions: ['xgboost'],
    decides: true,
    sniff: ({ text }) => text !== null && /^\s*\{/.test(text) && /"learner"\s*:/.test(text),
  },
  json: {
    title: 'JSON text',
    extensions: ['json'],
    isText: true,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null && looksLikeJson(text),
  },
  csv: {
    title: 'CSV text',
    extensions: ['csv'],
    isText: true,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null && looksLikeCsv(text),
  },
  text: {
    title: 'text',
    extensions: ['txt'],
    isText: true,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null,
  },
  raw: {
    title: 'a raw float32 vector',
    extensions: ['f32'],
    read: readRaw,
    plan: planRaw,
    versions: [],
    decides: false,
    // Has no signature, so it must be declared.
    sniff: () => false,
  },
} as const satisfies Readonly<Record<string, FormatDescriptor>>

export type FormatName = keyof typeof FORMATS

/** Formats whose tensors can be read. `raw` is a bare little-endian float32 vector. */
export type WeightFormat = {
  [Name in FormatName]: (typeof FORMATS)[Name] extends { readonly read: unknown } ? Name : never
}[FormatName]

/** Formats that are recognized by content; a bare float32 vector is not. */
export type DetectedFormat = Exclude<FormatName, 'raw'>

/** The tensors of a weight file, not loaded. */
export interface WeightFile extends TensorPlaces {
  readonly format: WeightFormat
}
