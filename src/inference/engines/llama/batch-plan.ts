import { type BatchCosts, fasterApart } from './batch-costs.ts'
import type { BatchPart } from './binding/batch-context.ts'
import type { Choice } from './choice.ts'

/** A choice in a slot. The slot's number is also the number of its sequence. */
export interface Occupied {
  readonly slot: number
  readonly choice: Choice
}

export interface PlannedPart extends BatchPart {
  readonly choice: Choice
  readonly drafts: readonly number[]
  readonly scored: number
}

const missing = ({ choice }: Occupied): number => choice.tokens.length - choice.filled

/** True if the choice's prompt is computed and it needs only its next token. */
export const isWriting = (occupied: Occupied): boolean => missing(occupied) === 1

const next = ({ slot, choice }: Occupied, room: number): PlannedPart => {
  const drafts = choice.drafts.slice(0, Math.max(0, room - 1))
  return {
    choice,
    drafts,
    sequence: slot,
    position: choice.filled,
    tokens: Uint32Array.from([...choice.tokens.slice(choice.filled), ...drafts]),
    outputs: Uint32Array.from({ length: drafts.length + 1 }, (_, index) => index),
    scored: 0,
  }
}

const chunk = ({ slot, choice }: Occupied, count: number): PlannedPart => {
  const { filled, tokens, promptTokens, log } = choice
  // The last token of a prompt predicts the first of the reply.
  const scored = log?.promptPart ? Math.max(0, Math.min(count, promptTokens - 1 - filled)) : 0
  const last = filled + count === tokens.length ? [count - 1] : []
  return {
    choice,
    drafts: [],
    sequence: slot,
    position: filled,
    tokens: Uint32Array.from(tokens.slice(filled, filled + count)),
    outputs: Uint32Array.from([...Array(scored).keys(), ...last]),
    scored,
  }
}

export interface BatchLimits {
  readonly batchTokens: number
  /** Prompt tokens next to choices that are writing; `reading` counts those with a prompt to compute. */
  promptTokens(writing: number, reading: number): number
  readonly costs: BatchCosts
}

/**
 * Orders the parts. llama.cpp combines parts of consecutive sequences in ascending order, and splits them after the shortest.
 * This order keeps prompts apart from next tokens.
 */
const inOrder = (writing: readonly PlannedPart[], prompts: readonly PlannedPart[]): PlannedPart[] => {
  const follows = prompts[0]?.sequence === (writing.at(-1)?.sequence ?? -2) + 1
  return follows ? [...prompts, ...writing] : [...writing, ...prompts]
}

// ggml's kernels take four tokens at a time, and each leftover token alone at the price of three or four. Attention uses tiles
// of 64 (ggml-cpu: repack.cpp, GGML_FA_TILE_Q).
const ROWS = 4
const TILE = 64

/**
 * Returns how much of a prompt to compute at once: all of it if it fits, otherwise one of the fewest equal parts, in whole
 * tiles. A short rest costs as much as a much longer one: 570 tokens in 256 + 256 + 58 took 8% more CPU time than in three
 * times 190.
 */
const evenShare = (tokens: number, room: number): number => {
  if (tokens <= room) return tokens
  const grain = [TILE, ROWS].find((size) => size <= room) ?? 1
  const whole = room - (room % grain)
  if (whole === 0) return 0
  return Math.ceil(tokens / Math.ceil(tokens / whole) / grain) * grain
}

/** The choices that get one token each, including the last few tokens of prompts, which are cheaper together with others. */
const oneByOne = (occupied: readonly Occupied[]): Occupied[] => {
  const few = occupied.filter((each) => missing(each) < ROWS)
  return (few.length > 1 ? few : few.filter(isWriting)).sort((a, b) => a.slot - b.slot)
}

/** Next to other parts, a prompt's part has no leftover rows. */
const wholeRows = (tokens: number): number => (tokens > ROWS ? tokens - (tokens % ROWS) : tokens)

/**
 * Plans the next batch: the next token of every choice that is writing, with the guesses after it; then as much of the prompts
 * as fits, oldest first.
 */
export const planBatch = (occupied: readonly Occupied[], limits: BatchLimits): PlannedPart[] => {
  const parts: PlannedPart[] = []
  let room = limits.batchTokens
  const inStep = oneByOne(occupied)
  for (const [index, each] of inStep.entries()) {
    const part = isWriting(each) ? next(each, room - (inStep.length - index - 1)) : chunk(each, 1)
    room -= part.tokens.length
    parts.push(part)
  }
  if (parts.length > 1 && fasterApart(limits.costs, parts.length)) parts.reverse()
  const reading = occupied.filter((each) => !inStep.includes(each)).sort((a, b) => a.choice.id - b.choice.id)
  const writing = inStep.filter(isWriting).length
  if (writing > 0) room = Math.min(room, limits.promptTokens(writing, reading.length))
  const whole = room
  const prompts: PlannedPart[] = []
  for (const each of reading) {
    const share = Math.min(evenShare(missing(each), whole), each.choice.log?.promptPart ?? whole)
    const count = inStep.length > 0 ? wholeRows(share) : share
    // Squeezing in a part would only make the next one shorter, so it waits for the next batch.
    if (count === 0 || count > room) break
    prompts.push(chunk(each, count))
    room -= count
  }
  return inOrder(
    parts,
    prompts.sort((a, b) => a.sequence - b.sequence),
  )
}

/** Decides how many prompt tokens a batch takes next to streams that are writing. */
export interface Pace {
  /** The more prompts wait and the fewer streams are writing, the longer the streams may pause. */
  promptTokens(writing: number, reading: number): number
  /** Records how long a batch with this many prompt tokens took. */
  measured(promptTokens: number, milliseconds: number): void
}

// How long a stream may pause for another choice's prompt.
const PAUSE_MS = 100
// Prompts up to this length are read whole, and short ones several at a time; one by one, each step would compute few streams.
const MIN_TOKENS = 128
const GRAIN = 32
// Smaller batches say little about the speed of prompts.
const TELLING_TOKENS = 32
const NEW_SHARE = 0.3

export const createPace = (batchTokens: number): Pace => {
  let perToken: number | null = null
  return {
    promptTokens: (writing, reading) => {
      if (perToken === null) return Math.min(batchTokens, MIN_TOKENS)
      const pause = PAUSE_MS * Math.max(1, reading / writing)
      const tokens = Math.floor(pause / perToken / GRAIN) * GRAIN
      return Math.min(batchTokens, Math.max(MIN_TOKENS, tokens))
    },
    measured: (promptTokens, milliseconds) => {
      if (promptTokens < TELLING_TOKENS) return
      const now = milliseconds / promptTokens
      perToken = perToken === null ? now : perToken * (1 - NEW_SHARE) + now * NEW_SHARE
    },
  }
}
