// Reads scikit-learn's pickle and joblib files as plain data, without importing, calling, or evaluating anything they name.
import { badRequest } from '../domain/errors.ts'
import { ByteCursor } from './byte-cursor.ts'
import { plainPickle } from './joblib-compression.ts'
import {
  emptyArray,
  fillArray,
  isArray,
  isBytes,
  isNumpyType,
  type NumpyArray,
  numpyScalar,
  numpyTypeOf,
  type PickledBytes,
  setTypeState,
  shapeOf,
} from './numpy-pickle.ts'
import { unpickle } from './pickle.ts'
import { isKind, modernName, type PickleHost, type PickleObject, type PickleValue } from './pickle-value.ts'
import { showName } from './shape.ts'
import { type ByteSource, elementCount } from './weight-file.ts'

/** An instance of a Python class: its full name, the arguments it was created with, and its state, usually its attributes. */
export interface PickledObject extends PickleObject {
  readonly kind: 'object'
  readonly type: string
  readonly args: readonly PickleValue[]
  state: PickleValue
}

/** A class or function, by its full name. */
interface Named extends PickleObject {
  readonly kind: 'global'
  readonly name: string
}

export interface PickledFile {
  readonly value: PickleValue
  /** What array offsets refer to: the file, or its inflated content. */
  readonly source: ByteSource
  /** Arrays of a compressed file cannot be patched in place. */
  readonly compressed: boolean
}

export const isObject = (value: unknown): value is PickledObject => isKind<PickledObject>(value, 'object')

const isNamed = (value: unknown): value is Named => isKind<Named>(value, 'global')

/** The globals of estimators. Function names are harmless here because calls are kept as data. */
const ALLOWED =
  /^(sklearn\.[\w.]+|_loss\.\w+|scipy\.sparse\.[\w.]+|numpy\.\w+|numpy\.(_core|dtypes|random|ma)\.[\w.]+|joblib\.numpy_pickle\.NumpyArrayWrapper|collections\.(OrderedDict|defaultdict|Counter)|copyreg\._reconstructor|_codecs\.encode|functools\.partial|builtins\.(object|set|frozenset|bytearray|bytes|slice|range|int|float|bool|str|list|tuple|dict|complex))$/
const WRAPPERS = /^(xgboost|lightgbm|catboost)\./

const known = (module: string, name: string): Named => {
  const full = modernName(module, name)
  if (ALLOWED.test(full)) return { kind: 'global', name: full }
  if (WRAPPERS.test(full))
    throw badRequest(
      `The file is a pickled ${showName(full)}, whose trees are in a private binary format. ` +
        (full.startsWith('xgboost.')
          ? 'Save the model itself: model.save_model("model.json").'
          : 'This library is not supported. Convert the model to ONNX in Python, for example with onnxmltools.'),
    )
  throw badRequest(
    `The pickle names ${showName(full)}, which no estimator of scikit-learn needs; it was not opened. ` +
      'Models may consist of estimators of scikit-learn and NumPy arrays.',
  )
}

/** Converts the strings that stand for bytes in protocol 2; in total at most as many as the file has. */
const latin1Reader =
  (available: number) =>
  (text: PickleValue | undefined): PickledBytes => {
    available -= typeof text === 'string' ? text.length : 0
    if (typeof text !== 'string' || available < 0)
      throw badRequest(
        'The pickle is damaged: it encodes something that is not a string, or more data than it contains.',
      )
    const content = Uint8Array.from(text, (char) => char.charCodeAt(0))
    return { kind: 'bytes', offset: 0, length: content.length, content }
  }

/** How NumPy scalars are read: as values, or as arrays of shape [] with their positions in the file. */
type Scalars = 'values' | 'arrays'

/** State shared by all pickles of one file. */
interface Run {
  readonly source: ByteSource
  readonly cursor: ByteCursor
  readonly latin1: (text: PickleValue | undefined) => PickledBytes
  readonly scalars: Scalars
}

/** Reads what follows joblib's array wrapper: padding and raw bytes, or a pickle of objects. */
const joblibArray = (cursor: ByteCursor, wrapper: ReadonlyMap<PickleValue, PickleValue>, nested: () => PickleValue) => {
  const type = wrapper.get('dtype')
  const shape = shapeOf(wrapper.get('shape'))
  if (isNumpyType(type) && type.type === 'O') {
    const array = nested()
    if (!isArray(array)) throw badRequest('The joblib file is damaged: an array of objects is missing.')
    return array
  }
  if (typeof wrapper.get('numpy_array_alignment_bytes') === 'number') cursor.skip(cursor.byte())
  const length = isNumpyType(type) ? elementCount(shape) * type.size : 0
  const bytes: PickledBytes = { kind: 'bytes', offset: cursor.position, length, content: null }
  cursor.skip(length)
  return fillArray(emptyArray(), type, shape, wrapper.get('order') === 'F', bytes)
}

/** Evaluates calls that only convert data. Any other call is kept as an object with its name and arguments. */
const made = (run: Run, name: string, args: readonly PickleValue[]): PickleValue => {
  switch (name) {
    case 'numpy.dtype':
      return numpyTypeOf(args)
    case 'numpy._core.multiarray._reconstruct':
      return emptyArray()
    case 'numpy._core.numeric._frombuffer':
      return fillArray(emptyArray(), args[1], shapeOf(args[2]), args[3] === 'F', args[0])
    case 'numpy._core.multiarray.scalar':
      return run.scalars === 'values'
        ? numpyScalar(run.source, args[0], args[1])
        : fillArray(emptyArray(), args[0], [], false, args[1])
    case '_codecs.encode':
      return run.latin1(args[0])
    case 'builtins.bytes':
    case 'builtins.bytearray':
      return isBytes(args[0]) ? args[0] : run.latin1(args[0] ?? '')
    case 'collections.OrderedDict':
    case 'collections.defaultdict':
    case 'collections.Counter':
    case 'sklearn.utils.Bunch':
    case 'sklearn.utils._bunch.Bunch':
      return new Map()
    case 'copyreg._reconstructor':
      return {
        kind: 'object',
        type: isNamed(args[0]) ? args[0].name : 'unknown',
        args: [],
        state: null,
      } as PickledObject
    default:
      return { kind: 'object', type: name, args, state: null } as PickledObject
  }
}

const arrayState = (target: NumpyArray, state: PickleValue): NumpyArray => {
  const [, shape, type, columnMajor, elements] = Array.isArray(state) ? state : []
  return fillArray(target, type, shapeOf(shape), columnMajor === true, elements)
}

const hostOf = (run: Run, depth: number): PickleHost => {
  const create = (callable: PickleValue, args: readonly PickleValue[]): PickleValue => {
    if (!isNamed(callable)) throw badRequest('The pickle is damaged: it calls something that is not a class.')
    return made(run, callable.name, args)
  }
  return {
    global: known,
    call: create,
    newObject: create,
    persistent() {
      throw badRequest('The pickle refers to an object outside of it; it was not opened.')
    },
    bytes(at, length) {
      const bytes: PickledBytes = { kind: 'bytes', offset: at.position, length, content: null }
      at.skip(length)
      return bytes
    },
    build(target, state) {
      if (isNumpyType(target)) setTypeState(target, state)
      else if (isArray(target)) return arrayState(target, state)
      else if (isObject(target) && target.type === 'joblib.numpy_pickle.NumpyArrayWrapper') {
        if (!(state instanceof Map)) throw badRequest('The joblib file is damaged: an array has no description.')
        return joblibArray(run.cursor, state, () => {
          if (depth > 0) throw badRequest('The joblib file is damaged: its arrays of objects are nested.')
          return unpickle(run.cursor, hostOf(run, depth + 1), run.source.size)
        })
      } else if (isObject(target)) target.state = state
      return target
    },
  }
}

/**
 * Reads the object in a pickle (protocols 2 to 5) or joblib file (also zlib or gzip): estimators as `PickledObject`, NumPy
 * arrays as the positions of their bytes. Memory is bounded by a multiple of the file size, but objects may be referenced
 * many times, so callers must limit their traversal. Throws bad_request.
 */
export const readPickledFile = (source: ByteSource, scalars: Scalars = 'values'): PickledFile => {
  const plain = plainPickle(source)
  const cursor = new ByteCursor(plain, 0, plain.size, 'The pickle')
  const run: Run = { source: plain, cursor, latin1: latin1Reader(plain.size), scalars }
  return { value: unpickle(cursor, hostOf(run, 0), plain.size), source: plain, compressed: plain !== source }
}
