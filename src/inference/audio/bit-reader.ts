/** The data ended where bits were still wanted. */
export class EndOfData extends Error {
  override readonly name = 'EndOfData'
}

/** Reads bits, the highest of each byte first. */
export class BitReader {
  readonly bytes: Uint8Array
  /** In bits from the beginning. */
  position = 0

  constructor(bytes: Uint8Array, byte = 0) {
    this.bytes = bytes
    this.position = byte * 8
  }

  /** The byte that the next whole one is. */
  get byte(): number {
    return Math.ceil(this.position / 8)
  }

  align(): void {
    this.position = this.byte * 8
  }

  /** The next 32 bits, the first of them highest, with zeros after the end. */
  private window(): number {
    const { bytes, position } = this
    const at = position >>> 3
    const shift = position & 7
    const high = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
    return shift === 0 ? high : (high << shift) | (bytes[at + 4]! >> (8 - shift))
  }

  private advance(count: number): void {
    this.position += count
    if (this.position > this.bytes.length * 8) throw new EndOfData()
  }

  /** @param count 0 to 32 */
  unsigned(count: number): number {
    if (count === 0) return 0
    const value = this.window() >>> (32 - count)
    this.advance(count)
    return value
  }

  /** Two's complement. @param count 0 to 33 */
  signed(count: number): number {
    if (count === 0) return 0
    if (count > 32) return this.signed(count - 16) * 2 ** 16 + this.unsigned(16)
    const value = this.window() >> (32 - count)
    this.advance(count)
    return value
  }

  /** How many zeros there are before the next one, which is read too. */
  unary(): number {
    for (let zeros = 0; ; ) {
      const window = this.window()
      if (window !== 0) {
        const more = Math.clz32(window)
        this.advance(more + 1)
        return zeros + more
      }
      zeros += 32
      this.advance(32)
    }
  }
}
