import type { BatchPart } from './binding/batch-context.ts'
import type { Choice } from './choice.ts'

/** A choice in a slot; the slot's number is the number of its sequence. */
export interface Occupied {
  readonly slot: number
  readonly choice: Choice
}

export interface PlannedPart extends BatchPart {
  readonly choice: Choice
  readonly drafts: readonly number[]
}

const missing = ({ choice }: Occupied): number => choice.tokens.length - choice.filled

/** Whether it only waits for its next token: its prompt is computed. */
export const isWriting = (occupied: Occupied): boolean => missing(occupied) === 1

const next = ({ slot, choice }: Occupied, room: number): PlannedPart => {
  const drafts = choice.drafts.slice(0, Math.max(0, room - 1))
  return {
    choice,
    drafts,
    sequence: slot,
    position: choice.filled,
    tokens: Uint32Array.from([...choice.tokens.slice(choice.filled), ...drafts]),
    answers: Uint32Array.from({ length: drafts.length + 1 }, (_, index) => index),
  }
}

const chunk = ({ slot, choice }: Occupied, count: number): PlannedPart => ({
  choice,
  drafts: [],
  sequence: slot,
  position: choice.filled,
  tokens: Uint32Array.from(choice.tokens.slice(choice.filled, choice.filled + count)),
  answers: Uint32Array.from(choice.filled + count === choice.tokens.length ? [count - 1] : []),
})

export interface BatchLimits {
  readonly batchTokens: number
  /** Of prompts, beside choices that are writing. */
  readonly promptTokens: number
  /** Whether that many writing choices are faster one after another. */
  apart(writing: number): boolean
}

/**
 * llama.cpp computes parts together where their sequences follow each other in ascending order, and splits them after the
 * shortest. So prompts and next tokens stand in the order that keeps them apart.
 */
const inOrder = (writing: readonly PlannedPart[], prompts: readonly PlannedPart[]): PlannedPart[] => {
  const follows = prompts[0]?.sequence === (writing.at(-1)?.sequence ?? -2) + 1
  return follows ? [...prompts, ...writing] : [...writing, ...prompts]
}

/**
 * What the next batch computes: the next token of every choice that is writing, with the guesses at those that follow; then as
 * much of the prompts as still fits, the oldest first.
 */
export const planBatch = (occupied: readonly Occupied[], limits: BatchLimits): PlannedPart[] => {
  const parts: PlannedPart[] = []
  let room = limits.batchTokens
  const writing = occupied.filter(isWriting).sort((a, b) => a.slot - b.slot)
  for (const [index, each] of writing.entries()) {
    const part = next(each, room - (writing.length - index - 1))
    room -= part.tokens.length
    parts.push(part)
  }
  if (limits.apart(parts.length)) parts.reverse()
  if (parts.length > 0) room = Math.min(room, limits.promptTokens)
  const prompts: PlannedPart[] = []
  const reading = occupied.filter((each) => !isWriting(each)).sort((a, b) => a.choice.id - b.choice.id)
  for (const each of reading) {
    const count = Math.min(room, missing(each))
    if (count > 0) prompts.push(chunk(each, count))
    room -= count
  }
  return inOrder(
    parts,
    prompts.sort((a, b) => a.sequence - b.sequence),
  )
}
