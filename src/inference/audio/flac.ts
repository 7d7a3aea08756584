import { BitReader, EndOfData } from './bit-reader.ts'
import { DamagedFrame, readSubframe } from './flac-subframe.ts'
import { type Block, invalidAudio, mixDown } from './sound.ts'

// RFC 9639. The decoders in npm lose a file's last frames.

interface StreamInfo {
  readonly sampleRate: number
  readonly bits: number
  /** Of the first frame. */
  readonly start: number
}

const damaged = (what: string): Error => invalidAudio(`The FLAC file is damaged: ${what}.`)

/** Metadata blocks, of which only the first is of use here (section 8). */
const readStreamInfo = (bytes: Uint8Array): StreamInfo => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let info: Omit<StreamInfo, 'start'> | null = null
  for (let at = 4; at + 4 <= view.byteLength; ) {
    const head = view.getUint32(at)
    const length = head & 0xffffff
    if (((head >>> 24) & 0x7f) === 0) {
      if (length < 34 || at + 4 + length > view.byteLength) break
      const packed = view.getUint32(at + 14)
      info = { sampleRate: packed >>> 12, bits: ((packed >>> 4) & 31) + 1 }
    }
    at += 4 + length
    if (head >>> 31 === 0) continue
    if (info === null || info.sampleRate === 0) break
    return { ...info, start: at }
  }
  throw damaged('its header is not complete')
}

const crcTable = (bits: 8 | 16, polynomial: number): Uint16Array =>
  Uint16Array.from({ length: 256 }, (_, byte) => {
    let value = byte << (bits - 8)
    for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ ((value >> (bits - 1)) & 1 ? polynomial : 0)
    return value
  })

const CRC_8 = crcTable(8, 0x07)
const CRC_16 = crcTable(16, 0x8005)

const crc8 = (bytes: Uint8Array): number => bytes.reduce((crc, byte) => CRC_8[crc ^ byte]! & 0xff, 0)
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ CRC_16[(crc >> 8) ^ byte]!) & 0xffff
  return crc
}

interface FrameHeader {
  readonly length: number
  readonly sampleRate: number
  readonly assignment: number
  readonly bits: number
}

const RATES = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const WIDTHS = [0, 8, 12, Number.NaN, 16, 20, 24, 32]

const lengthOf = (code: number, bits: BitReader): number => {
  if (code === 1) return 192
  if (code === 6) return bits.unsigned(8) + 1
  if (code === 7) return bits.unsigned(16) + 1
  return code < 6 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8)
}

const rateOf = (code: number, bits: BitReader, usual: number): number => {
  if (code === 12) return bits.unsigned(8) * 1000
  if (code === 13) return bits.unsigned(16)
  if (code === 14) return bits.unsigned(16) * 10
  return RATES[code] || usual
}

/** Section 9.1. */
const readHeader = (bits: BitReader, info: StreamInfo): FrameHeader => {
  const start = bits.byte
  // The sync code and the bit for blocks of varying length, after a reserved one.
  if (bits.unsigned(15) !== 0x7ffc) throw new DamagedFrame()
  bits.unsigned(1)
  const [lengthCode, rateCode, assignment] = [bits.unsigned(4), bits.unsigned(4), bits.unsigned(4)]
  const width = WIDTHS[bits.unsigned(3)]!
  const reserved = bits.unsigned(1)
  // The frame's number, coded as UTF-8 codes characters.
  for (let first = bits.unsigned(8); first >= 0xc0; first = (first << 1) & 0xff) bits.unsigned(8)
  const length = lengthOf(lengthCode, bits)
  const sampleRate = rateOf(rateCode, bits, info.sampleRate)
  const end = bits.byte
  const isWhole = bits.unsigned(8) === crc8(bits.bytes.subarray(start, end))
  const isReserved = lengthCode === 0 || rateCode === 15 || assignment > 10 || Number.isNaN(width) || reserved !== 0
  if (!isWhole || isReserved) throw new DamagedFrame()
  return { length, sampleRate, assignment, bits: width || info.bits }
}

const LEFT_SIDE = 8
const SIDE_RIGHT = 9
const MID_SIDE = 10

/** One channel in -1..1. The mean of left and right is what is wanted, so they need not be told apart. */
const readChannels = (bits: BitReader, { length, assignment, bits: width }: FrameHeader): Float32Array => {
  const channel = (isSide: boolean): Float64Array => readSubframe(bits, length, isSide ? width + 1 : width)
  const scale = 2 ** (1 - width)
  const scaled = (sample: (at: number) => number): Float32Array =>
    Float32Array.from({ length }, (_, at) => sample(at) * scale)
  if (assignment < LEFT_SIDE) {
    const channels = Array.from({ length: assignment + 1 }, () => channel(false))
    return mixDown(channels.map((samples) => scaled((at) => samples[at]!)))
  }
  const [first, second] = [channel(assignment === SIDE_RIGHT), channel(assignment !== SIDE_RIGHT)]
  if (assignment === LEFT_SIDE) return scaled((at) => first[at]! - second[at]! / 2)
  if (assignment === SIDE_RIGHT) return scaled((at) => second[at]! + first[at]! / 2)
  // The middle lost its lowest bit, which is that of the side.
  return assignment === MID_SIDE ? scaled((at) => first[at]! + Math.abs(second[at]! % 2) / 2) : new Float32Array(0)
}

const readFrame = (bits: BitReader, info: StreamInfo): Block => {
  const start = bits.byte
  const header = readHeader(bits, info)
  const samples = readChannels(bits, header)
  bits.align()
  const end = bits.byte
  if (bits.unsigned(16) !== crc16(bits.bytes.subarray(start, end))) throw new DamagedFrame()
  return { samples, sampleRate: header.sampleRate }
}

/** Where the next frame could begin. */
const nextSync = (bytes: Uint8Array, from: number): number => {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    if (bytes[at] === 0xff && (bytes[at + 1]! & 0xfe) === 0xf8) return at
  }
  return bytes.length
}

/**
 * Decodes what can be decoded: frames that are damaged are left out, and a file that was cut off is read up to there.
 * @param bytes from `fLaC` on
 * @throws InferenceError invalid_request when nothing can be
 */
export function* readFlac(bytes: Uint8Array): Generator<Block> {
  const info = readStreamInfo(bytes)
  let found = false
  for (let at = nextSync(bytes, info.start); at < bytes.length; ) {
    const bits = new BitReader(bytes, at)
    let next = at + 1
    try {
      yield readFrame(bits, info)
      found = true
      next = bits.byte
    } catch (error) {
      if (!(error instanceof DamagedFrame || error instanceof EndOfData)) throw error
    }
    at = nextSync(bytes, next)
  }
  if (!found) throw damaged('it holds no frame that can be decoded')
}
