import { badRequest } from '../domain/errors.ts'
import { ByteCursor } from './byte-cursor.ts'
import { MAX_PICKLE_OPCODES } from './limits.ts'
import { showName } from './shape.ts'
import { copyOf, decodeText } from './sources.ts'
import type { ByteSource } from './weight-file.ts'

/** The argument of an opcode: a number of bytes, a count of 1, 4, or 8 bytes and that many bytes, or lines of text. */
type Argument = number | 'count1' | 'count4' | 'count8' | 'line' | 'lines'

const OPCODES: readonly (readonly [Argument, readonly number[]])[] = [
  [0, [...'N]ael)t}dsu02(1Rbo.Q'].map((char) => char.charCodeAt(0))],
  [0, [0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8f, 0x90, 0x91, 0x92, 0x93, 0x94, 0x97, 0x98]],
  [1, [0x4b, 0x68, 0x71, 0x80, 0x82]], // BININT1, BINGET, BINPUT, PROTO, EXT1
  [2, [0x4d, 0x83]], // BININT2, EXT2
  [4, [0x4a, 0x84, 0x6a, 0x72]], // BININT, EXT4, LONG_BINGET, LONG_BINPUT
  [8, [0x47]], // BINFLOAT
  ['count1', [0x55, 0x43, 0x8a, 0x8c]], // SHORT_BINSTRING, SHORT_BINBYTES, LONG1, SHORT_BINUNICODE
  ['count4', [0x54, 0x42, 0x58, 0x8b]], // BINSTRING, BINBYTES, BINUNICODE, LONG4
  ['count8', [0x8d, 0x8e, 0x96]], // BINUNICODE8, BINBYTES8, BYTEARRAY8
  ['line', [...'IgpLSVFP'].map((char) => char.charCodeAt(0))],
  ['lines', [...'ci'].map((char) => char.charCodeAt(0))], // GLOBAL, INST
]
/** Every opcode of protocols 0 to 5 except FRAME. Source: CPython, Lib/pickletools.py. */
const ARGUMENTS = new Map(OPCODES.flatMap(([argument, codes]) => codes.map((code) => [code, argument] as const)))

const PROTO = 0x80
const FRAME = 0x95
const STOP = 0x2e
const STACK_GLOBAL = 0x93
const MEMOIZE = 0x94
const PUTS = new Map([
  [0x71, 1],
  [0x72, 4],
])
const GETS = new Map([
  [0x68, 1],
  [0x6a, 4],
])
const TEXTS: ReadonlySet<number> = new Set([0x58, 0x8c, 0x8d])
const MAX_NAME_LENGTH = 200
const MAX_NAMES = 100_000

/** Opcodes that can follow the protocol in a nonempty pickle: } ] ( ) c X K M J G N T U, true, false, long. */
const FIRST_OPCODES = new Set([...'}](c)XKMJGNTU'].map((char) => char.charCodeAt(0)).concat(0x88, 0x89, 0x8a, 0x8c))

/** Recognizes a pickle of protocol 2 to 5 by its first bytes. Does not check lengths, as `walkPickle` does. */
export const startsLikePickle = (bytes: Uint8Array): boolean => {
  const head = copyOf(bytes.subarray(0, 16))
  if (head.length < 4 || head[0] !== PROTO) return false
  const protocol = head[1]!
  if (protocol === 2 || protocol === 3) return FIRST_OPCODES.has(head[2]!)
  if (protocol !== 4 && protocol !== 5) return false
  // Pickles of only a few bytes have no frame.
  return head[2] === FRAME || (bytes.length < 16 && FIRST_OPCODES.has(head[2]!))
}

/** Packages of pickled models; from the standard library, only types that hold data. */
const PACKAGES = /^(numpy|scipy|sklearn|pandas|joblib|xgboost|lightgbm|catboost|torch)(\.|$)/
const DATA =
  /^(collections\.(OrderedDict|defaultdict|Counter|deque)|copy_?reg\._reconstructor|_codecs\.encode|datetime\.\w+|decimal\.Decimal|fractions\.Fraction|uuid\.UUID|(__builtin__|builtins)\.(object|set|frozenset|bytearray|complex|slice|range|xrange|int|long|float|bool|str|bytes|unicode|list|tuple|dict|type))$/
/** joblib writes raw array bytes between opcodes, so nothing after the first array can be parsed. */
const JOBLIB_ARRAY = /^joblib\.numpy_pickle\.\w*ArrayWrapper$/

const refused = (global: string) =>
  badRequest(
    `The file is a pickle that names ${showName(global)}, which no saved model needs; it was not opened. ` +
      'Save the weights alone, as .safetensors, .npz, or with torch.save(model.state_dict(), path).',
  )

/** Tracks the two topmost stack values if recent opcodes pushed them as names; null for other values. */
class Names {
  readonly #memo = new Map<number, string>()
  #memoized = 0
  #below: string | null = null
  #top: string | null = null

  push(name: string | null): void {
    this.#below = this.#top
    this.#top = name
  }

  memoize(): void {
    this.put(this.#memoized)
  }

  put(key: number): void {
    this.#memoized++
    if (this.#top !== null && this.#memo.size < MAX_NAMES) this.#memo.set(key, this.#top)
    else this.#memo.delete(key)
  }

  get(key: number): void {
    this.push(this.#memo.get(key) ?? null)
  }

  /** The global that STACK_GLOBAL names. */
  global(): string {
    if (this.#below === null || this.#top === null) throw refused('a global that is only known when it runs')
    return `${this.#below}.${this.#top}`
  }
}

/**
 * Parses a pickle of protocol 2 to 5 from first to last opcode without building anything. Checks that its lengths fit, that
 * it ends at the end of the file, and that it names only what saved models and plain data need. Throws bad_request.
 */
export const walkPickle = (source: ByteSource): void => {
  const cursor = new ByteCursor(source, 0, source.size, 'The pickle')
  const names = new Names()
  for (let step = 0; step < MAX_PICKLE_OPCODES; step++) {
    const opcode = cursor.byte()
    if (opcode === STOP) {
      if (cursor.position === source.size) return
      if (cursor.byte() === PROTO) cursor.skip(1)
      else throw badRequest(`The pickle ends at byte ${cursor.position - 1}, but the file goes on. It is damaged.`)
    } else if (opcode === FRAME) {
      const length = cursor.u64()
      if (length > source.size - cursor.position)
        throw badRequest(
          `The pickle claims a frame of ${length} bytes at byte ${cursor.position}, but only ` +
            `${source.size - cursor.position} follow. Send the whole file again.`,
        )
    } else {
      const global = follow(cursor, opcode, names)
      if (global !== null && JOBLIB_ARRAY.test(global)) return
    }
  }
  throw badRequest(`The pickle has more than ${MAX_PICKLE_OPCODES} steps; it was not read to its end.`)
}

/** Skips one opcode and its argument; returns the global that it names, or null. */
const follow = (cursor: ByteCursor, opcode: number, names: Names): string | null => {
  const argument = ARGUMENTS.get(opcode)
  if (argument === undefined)
    throw badRequest(`The pickle is damaged: byte ${cursor.position - 1} is not an opcode. Send the whole file again.`)
  const put = PUTS.get(opcode)
  if (put !== undefined) names.put(put === 1 ? cursor.byte() : cursor.u32())
  else if (opcode === MEMOIZE) names.memoize()
  else if (GETS.has(opcode)) names.get(argument === 1 ? cursor.byte() : cursor.u32())
  else if (argument === 'lines') return allowed(names, `${cursor.line()}.${cursor.line()}`)
  else if (opcode === STACK_GLOBAL) return allowed(names, names.global())
  else if (opcode === PROTO) cursor.skip(1)
  else names.push(pass(cursor, argument, TEXTS.has(opcode)))
  return null
}

const allowed = (names: Names, global: string): string => {
  if (!PACKAGES.test(global) && !DATA.test(global)) throw refused(global)
  names.push(null)
  return global
}

/** Skips an argument; returns it if it is text that may be a name. */
const pass = (cursor: ByteCursor, argument: Argument, isText: boolean): string | null => {
  if (argument === 'line') cursor.line()
  if (typeof argument !== 'number' && argument !== 'line') {
    const length = argument === 'count1' ? cursor.byte() : argument === 'count4' ? cursor.u32() : cursor.u64()
    if (isText && length <= MAX_NAME_LENGTH) return decodeText(cursor.take(length), 'a text of the pickle')
    cursor.skip(length)
  }
  if (typeof argument === 'number') cursor.skip(argument)
  return null
}
