import { readFile, writeFile } from 'node:fs/promises'
import { readGgufHeader } from './header.ts'

const KEY = 'tokenizer.chat_template'

/** Copies a model with another chat template. The tensors are unchanged, but the header's length differs. */
export const withTemplate = async (source: string, target: string, template: string): Promise<string> => {
  const { dataStart, alignment, tensors } = await readGgufHeader(source)
  const file = await readFile(source)
  // Skips the key and the value's type; the value starts with its length.
  const at = file.indexOf(KEY) + KEY.length + 4
  const oldLength = Number(file.readBigUInt64LE(at))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(template)))
  const head = Buffer.concat([
    file.subarray(0, at),
    length,
    Buffer.from(template),
    file.subarray(at + 8 + oldLength, dataStart),
  ])
  const last = tensors.length === 0 ? head.length : Math.ceil(head.length / alignment) * alignment
  await writeFile(target, Buffer.concat([head, Buffer.alloc(last - head.length), file.subarray(dataStart)]))
  return target
}
