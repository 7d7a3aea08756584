import { copyOf } from './sources.ts'

/** Opcodes that can follow the protocol of a pickle that holds something: } ] ( ) c X K M J G N T U, true, false, long. */
const FIRST_OPCODES = new Set([...'}](c)XKMJGNTU'].map((char) => char.charCodeAt(0)).concat(0x88, 0x89, 0x8a, 0x8c))
const FRAME = 0x95

/** A pickle of protocol 2 to 5, by its first bytes. Its lengths may lie: `walkPickle` finds out. */
export const startsLikePickle = (bytes: Uint8Array): boolean => {
  const head = copyOf(bytes.subarray(0, 16))
  if (head.length < 4 || head[0] !== 0x80) return false
  const protocol = head[1]!
  if (protocol === 2 || protocol === 3) return FIRST_OPCODES.has(head[2]!)
  if (protocol !== 4 && protocol !== 5) return false
  // Frames are left out of pickles that are only a few bytes long.
  return head[2] === FRAME || (bytes.length < 16 && FIRST_OPCODES.has(head[2]!))
}
