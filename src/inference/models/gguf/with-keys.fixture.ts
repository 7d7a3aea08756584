import { readFile, writeFile } from 'node:fs/promises'

const COUNT_AT = 16
const KEYS_AT = 24
const ALIGNMENT = 32
const [U32, STRING] = [4, 8]

const number = (value: number, bytes: 4 | 8): Buffer => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUInt32LE(value)
  return buffer
}
const keyed = (key: string, type: number, value: Buffer): Buffer =>
  Buffer.concat([number(key.length, 8), Buffer.from(key), number(type, 4), value])

/** Copies a model with more integers in its header. A text fills it up, so that the tensors stay aligned. */
export const withKeys = async (
  source: string,
  target: string,
  values: Readonly<Record<string, number>>,
): Promise<string> => {
  const file = await readFile(source)
  const added = Buffer.concat(Object.entries(values).map(([key, value]) => keyed(key, U32, number(value, 4))))
  const fill = (length: number): Buffer =>
    keyed('fill', STRING, Buffer.concat([number(length, 8), Buffer.alloc(length, 32)]))
  const over = (added.length + fill(0).length) % ALIGNMENT
  file.writeBigUInt64LE(file.readBigUInt64LE(COUNT_AT) + BigInt(Object.keys(values).length + 1), COUNT_AT)
  await writeFile(
    target,
    Buffer.concat([file.subarray(0, KEYS_AT), added, fill((ALIGNMENT - over) % ALIGNMENT), file.subarray(KEYS_AT)]),
  )
  return target
}
