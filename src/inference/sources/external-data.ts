import { createReadStream } from 'node:fs'

/** The entry of a tensor that names the file of its weights (onnx.proto: StringStringEntryProto), up to the name's length. */
const LOCATION = Buffer.from('\n\x08location\x12', 'latin1')
const MAX_NAME = 1024
const MAX_ENTRY = LOCATION.length + 2 + MAX_NAME

/** Returns the name after a location entry; null if it is cut off, or none. */
const nameAfter = (bytes: Buffer, at: number): string | null => {
  const low = bytes[at] ?? 0
  const [length, start] = low < 128 ? [low, at + 1] : [(low & 127) | ((bytes[at + 1] ?? 0) << 7), at + 2]
  return length > MAX_NAME || start + length > bytes.length ? null : bytes.toString('utf8', start, start + length)
}

/** Lists the files in which an ONNX graph keeps weights, relative to its folder. */
export const readExternalFiles = async (graph: string): Promise<readonly string[]> => {
  const names = new Set<string>()
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(graph, { highWaterMark: 1 << 20 })) {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    for (let at = bytes.indexOf(LOCATION); at >= 0; at = bytes.indexOf(LOCATION, at + 1)) {
      const name = nameAfter(bytes, at + LOCATION.length)
      if (name !== null) names.add(name)
    }
    // An entry that is cut off here is read with the next chunk.
    rest = bytes.subarray(-MAX_ENTRY)
  }
  return [...names]
}
