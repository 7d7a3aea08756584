import type { VersionFormat } from '../domain/model.ts'
import { startsLikeNpy } from './npy.ts'
import { startsLikeOnnx } from './onnx-sign.ts'
import { startsLikePickle } from './pickle-sign.ts'
import { looksLikeCsv, looksLikeJson } from './recognized-text.ts'
import { startsLikeSafetensors } from './safetensors.ts'
import { startsLikeTorchLegacy } from './torch-legacy.ts'
import { findTorchPickle } from './torch-zip.ts'

/** What a format is recognized by: never the file's name. */
export interface Sample {
  /** The first bytes of the file. */
  readonly head: Uint8Array
  readonly size: number
  /** Names of the members of a zip archive; null: the file is none. */
  readonly members: readonly string[] | null
  /** The first bytes as text; null: they are none. */
  readonly text: string | null
}

export interface FormatDescriptor {
  /** With its article, for messages: 'a safetensors file'. */
  readonly title: string
  /** Without the dot; the first one is given to files that need a name. */
  readonly extensions: readonly string[]
  /** Whether its tensors can be read, and so aggregated. */
  readonly readable: boolean
  /** What to send in its place, where it cannot be aggregated. */
  readonly instead?: string
  /** Formats of catalog versions whose bytes may look so; the first one is meant where none is named. */
  readonly versions: readonly VersionFormat[]
  /** Whether the first one of `versions` follows from the content alone. */
  readonly decides: boolean
  /** Asked in the order of the table: what is asked earlier is more certain. */
  sniff(sample: Sample): boolean
}

const ARRAYS: readonly VersionFormat[] = ['pytorch', 'tensorflow', 'sklearn', 'xgboost']

const startsWith =
  (sign: string, at = 0) =>
  ({ head }: Sample): boolean =>
    head.length >= at + sign.length && [...sign].every((char, i) => head[at + i] === char.charCodeAt(0))

const hasMember = ({ members }: Sample, matches: (name: string) => boolean): boolean => members?.some(matches) ?? false

const KERAS = 'Save its weights as arrays: numpy.savez(path, *model.get_weights()).'
const CONVERTED = 'Train with the weights that it was converted from, and convert the result.'
const TREES =
  'Trees cannot be averaged; send a result of one device, or train a model of tensors (safetensors, .pt, .npz).'
const SKLEARN = 'Save the fitted arrays alone, such as numpy.savez(path, coef=model.coef_, intercept=model.intercept_).'

/** Every kind of content that is told apart, in the order in which it is asked for. Adding one is a row. */
export const FORMATS = {
  'torch-zip': {
    title: 'a PyTorch .pt file',
    extensions: ['pt', 'pth'],
    readable: true,
    versions: ['pytorch'],
    decides: true,
    sniff: ({ members }) => members !== null && findTorchPickle(members.map((name) => ({ name }))) !== undefined,
  },
  npz: {
    title: 'a NumPy .npz file',
    extensions: ['npz'],
    readable: true,
    versions: ARRAYS,
    decides: false,
    sniff: (sample) => hasMember(sample, (name) => name.endsWith('.npy')),
  },
  keras: {
    title: 'a Keras model',
    extensions: ['keras'],
    readable: false,
    instead: KERAS,
    versions: ['tensorflow'],
    decides: true,
    sniff: (sample) => hasMember(sample, (name) => name === 'model.weights.h5' || name === 'model.weights.json'),
  },
  zip: {
    title: 'a zip archive, but neither a PyTorch file nor a .npz',
    extensions: ['zip'],
    readable: false,
    versions: [],
    decides: false,
    sniff: ({ members }) => members !== null,
  },
  npy: {
    title: 'a NumPy .npy file',
    extensions: ['npy'],
    readable: true,
    versions: ARRAYS,
    decides: false,
    sniff: ({ head }) => startsLikeNpy(head),
  },
  'torch-legacy': {
    title: 'a PyTorch .pt file of the old form',
    extensions: ['pt', 'pth'],
    readable: true,
    versions: ['pytorch'],
    decides: true,
    sniff: ({ head }) => startsLikeTorchLegacy(head),
  },
  hdf5: {
    title: 'an HDF5 file',
    extensions: ['h5', 'hdf5'],
    readable: false,
    instead: KERAS,
    versions: ['tensorflow'],
    decides: true,
    sniff: startsWith('\x89HDF\r\n\x1a\n'),
  },
  gguf: {
    title: 'a GGUF file',
    extensions: ['gguf'],
    readable: false,
    instead: CONVERTED,
    versions: [],
    decides: false,
    sniff: startsWith('GGUF'),
  },
  tflite: {
    title: 'a TensorFlow Lite model',
    extensions: ['tflite'],
    readable: false,
    instead: CONVERTED,
    versions: ['tensorflow'],
    decides: true,
    sniff: startsWith('TFL3', 4),
  },
  'xgboost-ubj': {
    title: 'an XGBoost model in UBJSON',
    extensions: ['ubj'],
    readable: false,
    instead: TREES,
    versions: ['xgboost'],
    decides: true,
    // An object whose first key is the learner: the key's length, as a number of some width, stands before it.
    sniff: ({ head }) => /^\{[UilLI][^a-z]{1,8}learner/.test(String.fromCharCode(...head.subarray(0, 24))),
  },
  gzip: {
    title: 'a gzip file',
    extensions: ['gz'],
    readable: false,
    instead: 'Unpack it first.',
    versions: [],
    decides: false,
    sniff: startsWith('\x1f\x8b\x08'),
  },
  png: {
    title: 'a PNG image',
    extensions: ['png'],
    readable: false,
    versions: [],
    decides: false,
    sniff: startsWith('\x89PNG\r\n\x1a\n'),
  },
  jpeg: {
    title: 'a JPEG image',
    extensions: ['jpg', 'jpeg'],
    readable: false,
    versions: [],
    decides: false,
    sniff: ({ head }) => head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff && (head[3] ?? 0) >= 0xc0,
  },
  gif: {
    title: 'a GIF image',
    extensions: ['gif'],
    readable: false,
    versions: [],
    decides: false,
    sniff: (sample) => startsWith('GIF87a')(sample) || startsWith('GIF89a')(sample),
  },
  pickle: {
    title: 'a plain Python pickle',
    extensions: ['pkl', 'joblib'],
    readable: false,
    instead: SKLEARN,
    versions: ['sklearn', 'pytorch', 'xgboost'],
    decides: true,
    sniff: ({ head }) => startsLikePickle(head),
  },
  safetensors: {
    title: 'a safetensors file',
    extensions: ['safetensors'],
    readable: true,
    versions: ARRAYS,
    decides: true,
    sniff: ({ head, size }) => startsLikeSafetensors(head, size),
  },
  onnx: {
    title: 'an ONNX model',
    extensions: ['onnx'],
    readable: false,
    instead: CONVERTED,
    versions: ['onnx'],
    decides: true,
    sniff: ({ head }) => startsLikeOnnx(head),
  },
  'xgboost-json': {
    title: 'an XGBoost model in JSON',
    extensions: ['json'],
    readable: false,
    instead: TREES,
    versions: ['xgboost'],
    decides: true,
    sniff: ({ text }) => text !== null && /^\s*\{/.test(text) && /"learner"\s*:/.test(text),
  },
  json: {
    title: 'JSON text',
    extensions: ['json'],
    readable: false,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null && looksLikeJson(text),
  },
  csv: {
    title: 'CSV text',
    extensions: ['csv'],
    readable: false,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null && looksLikeCsv(text),
  },
  text: {
    title: 'text',
    extensions: ['txt'],
    readable: false,
    versions: [],
    decides: false,
    sniff: ({ text }) => text !== null,
  },
} as const satisfies Readonly<Record<string, FormatDescriptor>>

/** Content that is recognized. A bare float32 vector is not: it has no sign. */
export type DetectedFormat = keyof typeof FORMATS

const descriptors: Readonly<Record<DetectedFormat, FormatDescriptor>> = FORMATS

export const FORMAT_NAMES = Object.keys(FORMATS) as readonly DetectedFormat[]

export const formatOf = (name: DetectedFormat): FormatDescriptor => descriptors[name]

/** What can be aggregated, for messages. */
export const READABLE =
  'Weights can be aggregated from .safetensors, .pt or .pth, .npz, .npy and raw little-endian float32.'

/** Content as a message names it: 'CSV text', or that it is nothing we know. */
export const titleOf = (name: DetectedFormat | null): string =>
  name === null ? 'unknown binary content' : formatOf(name).title

/** What to do about content that cannot be aggregated. */
export const adviceFor = (name: DetectedFormat | null): string => {
  const instead = name === null ? undefined : formatOf(name).instead
  return instead === undefined ? READABLE : `${instead} ${READABLE}`
}
