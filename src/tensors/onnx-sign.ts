/** Field numbers of ModelProto that may come before the graph, and whether they are a varint (0) or have a length (2). */
const BEFORE_GRAPH: Readonly<Record<number, 0 | 2>> = { 1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 8: 2, 14: 2, 20: 2, 25: 2 }
const GRAPH = 7
/** GraphProto's own fields, all with a length: node, name, initializer, doc_string, input, output, value_info, ... */
const IN_GRAPH = new Set([1, 2, 5, 10, 11, 12, 13, 14, 15].map((field) => (field << 3) | 2))

/** A base-128 number at `at` and the offset behind it; null when it does not end within 5 bytes. */
const varint = (bytes: Uint8Array, at: number): readonly [value: number, next: number] | null => {
  let value = 0
  for (let i = 0; i < 5 && at + i < bytes.length; i++) {
    value += (bytes[at + i]! & 0x7f) * 2 ** (7 * i)
    if (bytes[at + i]! < 0x80) return [value, at + i + 1]
  }
  return null
}

/**
 * ONNX has no magic number. Its first field is a small ir_version, and only fields of ModelProto (onnx.proto) come
 * before the graph; `head` is the start of the file.
 */
export const startsLikeOnnx = (head: Uint8Array): boolean => {
  if (head[0] !== 0x08) return false
  let at = 0
  for (let fields = 0; fields < 64; fields++) {
    const tag = varint(head, at)
    if (tag === null) return false
    const [key, afterKey] = tag
    const field = key >>> 3
    const value = varint(head, afterKey)
    if (value === null) return false
    if (field === GRAPH && (key & 7) === 2) return fields > 0 && IN_GRAPH.has(head[value[1]] ?? -1)
    if (BEFORE_GRAPH[field] !== (key & 7)) return false
    if (field === 1 && (value[0] < 1 || value[0] > 50)) return false
    at = (key & 7) === 2 ? value[1] + value[0] : value[1]
  }
  return false
}
