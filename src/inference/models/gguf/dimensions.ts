import type { GgufContainer } from './container.ts'
import { invalidModel, quoted } from './invalid-model.ts'
import type { MetadataType, Scalar } from './metadata.ts'

/** llama-hparams.h: LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS. */
const MAX_BLOCKS = 512
const MAX_EXPERTS = 1024

export interface Dimensions {
  readonly blocks: number
  readonly contextTokens: number
  readonly embedding: number
  /** One per block; 0 for blocks without attention. */
  readonly heads: readonly number[]
  readonly keyValueHeads: readonly number[]
  readonly feedForward: readonly number[]
  readonly keyLength: number
  readonly valueLength: number
}

/** Reads metadata keys in the exact types that llama.cpp requires, and checks ranges: it aborts on some numbers. */
export const metadataOf = (path: string, { metadata }: GgufContainer) => {
  const read = (key: string, type: MetadataType): Scalar | undefined => {
    const entry = metadata.get(key)
    if (entry === undefined) return undefined
    if (entry.type === type) return entry.value as Scalar
    throw invalidModel(path, `has the metadata key ${quoted(key)} as ${entry.type}; it must be ${type}.`)
  }
  const number = (key: string, least: number, most: number): number | undefined => {
    const value = read(key, 'u32') as number | undefined
    if (value === undefined || (value >= least && value <= most)) return value
    throw invalidModel(path, `says ${value} for ${quoted(key)}; it must be ${least} to ${most}.`)
  }
  const missing = (key: string) =>
    invalidModel(path, `lacks the metadata key ${quoted(key)}. Convert or fetch the model again.`)
  return {
    /** Cut at the first zero, as in llama.cpp. */
    text: (key: string) => (read(key, 'string') as string | undefined)?.split('\0', 1)[0],
    flag: (key: string) => read(key, 'bool') as boolean | undefined,
    missing,
    count: (key: string, least = 0, most = 2 ** 31 - 1) => number(key, least, most),
    needCount: (key: string, least = 1, most = 2 ** 31 - 1) => {
      const value = number(key, least, most)
      if (value === undefined) throw missing(key)
      return value
    },
    /** One number for all blocks, or an array with one per block. */
    perBlock: (key: string, blocks: number): readonly number[] | undefined => {
      const entry = metadata.get(key)
      if (entry?.type !== 'array') {
        const value = number(key, 0, 2 ** 31 - 1)
        return value === undefined ? undefined : new Array<number>(blocks).fill(value)
      }
      const fits = (entry.itemType === 'u32' || entry.itemType === 'i32') && entry.length === blocks
      if (fits) return entry.value as readonly number[]
      throw invalidModel(
        path,
        `has ${entry.length} ${entry.itemType} in ${quoted(key)}; there must be one u32 for each of its ${blocks} blocks.`,
      )
    },
  }
}

type Metadata = ReturnType<typeof metadataOf>

/** Reads the dimensions of the graph like llama.cpp's load_hparams, with the checks that it asserts. */
export const readDimensions = (
  path: string,
  metadata: Metadata,
  architecture: string,
  recurrent: boolean,
): Dimensions => {
  const key = (name: string) => `${architecture}.${name}`
  const contextTokens = metadata.needCount(key('context_length'))
  const embedding = metadata.needCount(key('embedding_length'))
  const blocks = metadata.needCount(key('block_count'), 1, MAX_BLOCKS)
  const heads = metadata.perBlock(key('attention.head_count'), blocks)
  if (heads === undefined && !recurrent) throw metadata.missing(key('attention.head_count'))
  const allHeads = heads ?? new Array<number>(blocks).fill(0)
  const keyValueHeads = metadata.perBlock(key('attention.head_count_kv'), blocks) ?? allHeads
  const feedForward = metadata.perBlock(key('feed_forward_length'), blocks)
  if (feedForward === undefined && !recurrent) throw metadata.missing(key('feed_forward_length'))
  const perHead = checkHeads(path, architecture, embedding, allHeads, keyValueHeads, recurrent)
  const keyLength = metadata.count(key('attention.key_length'), 1, 65_536) ?? perHead
  const valueLength = metadata.count(key('attention.value_length'), 1, 65_536) ?? perHead
  checkRotation(path, metadata, architecture)
  checkExperts(path, metadata, architecture, blocks)
  return {
    blocks,
    contextTokens,
    embedding,
    heads: allHeads,
    keyValueHeads,
    feedForward: feedForward ?? new Array<number>(blocks).fill(0),
    keyLength,
    valueLength,
  }
}

/** Returns the embedding size per head. */
const checkHeads = (
  path: string,
  architecture: string,
  embedding: number,
  heads: readonly number[],
  keyValueHeads: readonly number[],
  recurrent: boolean,
): number => {
  const uniform = heads.every((count) => count === heads[0])
  for (const [block, count] of heads.entries()) {
    const shared = keyValueHeads[block]!
    // Arrays contain 0 for blocks without attention.
    const silent = (recurrent || !uniform || shared === 0) && (count === 0 || shared === 0)
    if (count < 0 || shared < 0 || (!silent && (count === 0 || shared === 0 || count % shared !== 0)))
      throw invalidModel(
        path,
        `has ${count} heads and ${shared} key-value heads in block ${block} ('${architecture}.attention.head_count' and '.head_count_kv'); the first must be a multiple of the second.`,
      )
    if (!silent && count > embedding)
      throw invalidModel(
        path,
        `has ${count} heads for an embedding of ${embedding} ('${architecture}.attention.head_count').`,
      )
  }
  if (!recurrent && heads[0] === 0 && uniform)
    throw invalidModel(path, `has no attention heads ('${architecture}.attention.head_count').`)
  return heads[0] === 0 ? 0 : Math.floor(embedding / heads[0]!)
}

const checkRotation = (path: string, metadata: Metadata, architecture: string): void => {
  const key = (name: string) => `${architecture}.${name}`
  const rotated = metadata.count(key('rope.dimension_count'), 0, 65_536)
  if (rotated !== undefined && rotated % 2 !== 0)
    throw invalidModel(path, `says ${rotated} for '${key('rope.dimension_count')}'; it must be even.`)
  const scaling = metadata.text(key('rope.scaling.type')) ?? 'none'
  if (!['none', 'linear', 'yarn', 'longrope'].includes(scaling))
    throw invalidModel(
      path,
      `says ${quoted(scaling)} for '${key('rope.scaling.type')}'; none, linear, yarn, and longrope are known.`,
    )
}

const checkExperts = (path: string, metadata: Metadata, architecture: string, blocks: number): void => {
  const key = (name: string) => `${architecture}.${name}`
  const experts = metadata.count(key('expert_count'), 0, MAX_EXPERTS) ?? 0
  const used = Math.max(...(metadata.perBlock(key('expert_used_count'), blocks) ?? [0]))
  const groups = metadata.count(key('expert_group_count')) ?? 0
  const groupsUsed = metadata.count(key('expert_group_used_count')) ?? 0
  const fits =
    experts === 0
      ? used === 0 && groups === 0
      : used > 0 &&
        used <= experts &&
        groups < experts &&
        (groups <= 1 || (experts % groups === 0 && groupsUsed > 0 && groupsUsed < groups))
  // llama.cpp treats a single expert of these as none.
  if (fits || (architecture.startsWith('hunyuan') && experts <= 1)) return
  throw invalidModel(
    path,
    `has ${experts} experts of which ${used} are used, in ${groups} groups of which ${groupsUsed} are used ('${key('expert_count')}' and the keys beside it); these do not match.`,
  )
}
