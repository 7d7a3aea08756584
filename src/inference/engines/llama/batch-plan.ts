import type { BatchPart } from './binding/batch-context.ts'
import type { Choice } from './choice.ts'

/** A choice in a slot; the slot's number is the number of its sequence. */
export interface Occupied {
  readonly slot: number
  readonly choice: Choice
}

export interface PlannedPart extends BatchPart {
  readonly choice: Choice
}

const partOf = ({ slot, choice }: Occupied, count: number): PlannedPart => ({
  choice,
  sequence: slot,
  position: choice.filled,
  tokens: Uint32Array.from(choice.tokens.slice(choice.filled, choice.filled + count)),
  answers: Uint32Array.from(choice.filled + count === choice.tokens.length ? [count - 1] : []),
})

/**
 * What the next batch computes: the next token of every choice that is writing, then as much of the prompts that wait, the
 * oldest first, as still fits. llama.cpp takes sequences of ascending numbers together, which costs hardly more than one.
 */
export const planBatch = (occupied: readonly Occupied[], batchTokens: number, promptTokens: number): PlannedPart[] => {
  const missing = ({ choice }: Occupied): number => choice.tokens.length - choice.filled
  const writing = occupied.filter((each) => missing(each) === 1).sort((a, b) => a.slot - b.slot)
  const reading = occupied.filter((each) => missing(each) > 1).sort((a, b) => a.choice.id - b.choice.id)
  const parts = writing.slice(0, batchTokens).map((each) => partOf(each, 1))
  let room = batchTokens - parts.length
  if (parts.length > 0) room = Math.min(room, promptTokens)
  const prompts: PlannedPart[] = []
  for (const each of reading) {
    const count = Math.min(room, missing(each))
    if (count > 0) prompts.push(partOf(each, count))
    room -= count
  }
  return [...parts, ...prompts.sort((a, b) => a.sequence - b.sequence)]
}
