import { badRequest, type ServiceError } from '../domain/errors.ts'
import type { ByteCursor } from './byte-cursor.ts'
import { MAX_PICKLE_BYTES, MAX_PICKLE_DICTS } from './limits.ts'
import type { PickleHost, PickleObject, PickleValue } from './pickle-value.ts'
import { copyOf, decodeLatin1, decodeText } from './sources.ts'

const MARK = Symbol('mark')

/**
 * The stack and memo of a pickle being run. Every operation consumes input or removes the values it processes, so that the
 * work is proportional to the length of the pickle.
 */
export class PickleMachine {
  readonly cursor: ByteCursor
  readonly host: PickleHost
  readonly #stack: (PickleValue | typeof MARK)[] = []
  readonly #memo = new Map<number, PickleValue>()
  #dicts = 0

  constructor(cursor: ByteCursor, host: PickleHost) {
    this.cursor = cursor
    this.host = host
  }

  broken(reason: string): ServiceError {
    return badRequest(`The pickle is damaged at byte ${this.cursor.position}: ${reason}.`)
  }

  push(value: PickleValue): void {
    this.#stack.push(value)
  }

  mark(): void {
    this.#stack.push(MARK)
  }

  pop(): PickleValue {
    const value = this.#stack.pop()
    if (value === undefined || value === MARK) throw this.broken('its stack is empty')
    return value
  }

  top(): PickleValue {
    const value = this.#stack.at(-1)
    if (value === undefined || value === MARK) throw this.broken('its stack is empty')
    return value
  }

  popToMark(): PickleValue[] {
    const at = this.#stack.lastIndexOf(MARK)
    if (at < 0) throw this.broken('it closes a mark that it never opened')
    const values = this.#stack.splice(at + 1) as PickleValue[]
    this.#stack.pop()
    return values
  }

  pushDict(): void {
    this.#requireFewDicts()
    this.push(new Map())
  }

  pushSet(values: readonly PickleValue[]): void {
    this.#requireFewDicts()
    this.push(new Set(values))
  }

  popMany(count: number): PickleValue[] {
    return Array.from({ length: count }, () => this.pop()).reverse()
  }

  remember(key: number): void {
    this.#memo.set(key, this.top())
  }

  rememberNext(): void {
    this.remember(this.#memo.size)
  }

  recall(key: number): void {
    const value = this.#memo.get(key)
    if (value === undefined) throw this.broken(`it reads memo ${key}, which it never stored`)
    this.push(value)
  }

  append(values: readonly PickleValue[]): void {
    const target = this.top()
    if (!Array.isArray(target)) throw this.broken('it appends to something that is not a list')
    for (const value of values) target.push(value)
  }

  setItems(pairs: readonly PickleValue[]): void {
    const target = this.top()
    if (!(target instanceof Map) || pairs.length % 2 !== 0)
      throw this.broken('it sets items of something that is not a dict')
    for (let i = 0; i < pairs.length; i += 2) target.set(pairs[i]!, pairs[i + 1]!)
  }

  addItems(values: readonly PickleValue[]): void {
    const target = this.top()
    if (!(target instanceof Set)) throw this.broken('it adds items to something that is not a set')
    for (const value of values) target.add(value)
  }

  bytes(length: number): Uint8Array {
    if (length > MAX_PICKLE_BYTES) throw this.broken(`it contains a value of ${length} bytes`)
    return this.cursor.take(length)
  }

  text(length: number): string {
    return decodeText(this.bytes(length), `the text before byte ${this.cursor.position + length} of the pickle`)
  }

  /** A Python 2 str, whose bytes have no known encoding. */
  oldText(length: number): string {
    return decodeLatin1(this.bytes(length))
  }

  /** A Python int of any length: little-endian two's complement. */
  long(length: number): number | bigint {
    if (length > 64) throw this.broken('it contains a whole number of more than 64 bytes')
    const words = new DataView(new ArrayBuffer(64))
    new Uint8Array(words.buffer).set(this.bytes(length))
    let value = 0n
    for (let at = Math.ceil(length / 8) * 8 - 8; at >= 0; at -= 8) value = (value << 64n) | words.getBigUint64(at, true)
    const signed = BigInt.asIntN(length * 8, value)
    return BigInt.asIntN(53, signed) === signed ? Number(signed) : signed
  }

  global(module: PickleValue, name: PickleValue): PickleObject {
    if (typeof module !== 'string' || typeof name !== 'string')
      throw this.broken('it names a global by something that is not a string')
    return this.host.global(module, name)
  }

  build(): void {
    const state = this.pop()
    this.push(this.host.build(this.pop(), state))
  }

  /** Returns false if the host does not create objects. */
  newObject(): boolean {
    if (this.host.newObject === undefined) return false
    const args = this.pop()
    if (!Array.isArray(args)) throw this.broken('it passes arguments that are not a tuple')
    this.push(this.host.newObject(this.pop(), args))
    return true
  }

  pushBytes(length: number): void {
    this.push(this.host.bytes?.(this.cursor, length) ?? copyOf(this.bytes(length)))
  }

  reduce(): void {
    const args = this.pop()
    if (!Array.isArray(args)) throw this.broken('it passes arguments that are not a tuple')
    this.push(this.host.call(this.pop(), args))
  }

  #requireFewDicts(): void {
    if (++this.#dicts > MAX_PICKLE_DICTS) throw this.broken(`it contains more than ${MAX_PICKLE_DICTS} dicts or sets`)
  }
}
