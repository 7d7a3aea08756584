import { isWriting, type Occupied } from './batch-plan.ts'
import type { BatchContext } from './binding/batch-context.ts'
import type { Choice } from './choice.ts'
import type { PrefixCache } from './prefix-cache.ts'
import { sharedLength } from './saved-states.ts'

/** Who sits in which slot, and who waits for one. */
export interface Seats {
  /** In ascending order of slots. */
  occupied(): Occupied[]
  readonly waiting: number
  join(choice: Choice): void
  /** Those that are over leave, and who has waited longest takes the lowest free slot. */
  settle(): Promise<void>
  /** A waiting one leaves at once, one in a slot with the next settling. */
  dismiss(id: number): void
  /** Empties a slot whose keys and values cannot be trusted any more. */
  spoil(slot: number): void
}

// A prompt waits for one that is being computed if it saves at least this many tokens.
const WORTH_WAITING = 32

export const createSeats = (count: number, context: BatchContext, cache: PrefixCache): Seats => {
  const slots: (Choice | null)[] = Array.from({ length: count }, () => null)
  const waiting: Choice[] = []

  const occupied = (): Occupied[] => slots.flatMap((choice, slot) => (choice === null ? [] : [{ slot, choice }]))

  /** Whether one of the prompts that are being computed begins as this one does: it is copied then, not computed twice. */
  const comesLater = (choice: Choice): boolean => {
    if (!cache.enabled) return false
    const available = cache.available(choice.tokens)
    return occupied().some((each) => {
      if (isWriting(each) || each.choice.over) return false
      const soon = sharedLength(each.choice.tokens, choice.tokens, choice.tokens.length - 1)
      return soon >= available + WORTH_WAITING && soon > each.choice.filled
    })
  }

  const leave = (slot: number, choice: Choice): void => {
    choice.sampler.dispose()
    slots[slot] = null
    cache.hold(slot, choice.tokens, choice.filled)
    if (!cache.enabled) context.truncate(slot, 0)
  }

  const sit = async (slot: number, choice: Choice): Promise<void> => {
    slots[slot] = choice
    try {
      choice.filled = await cache.seat(slot, choice.tokens)
    } catch {
      context.truncate(slot, 0)
      choice.filled = 0
    }
    choice.cachedTokens = choice.filled
    cache.hold(slot, choice.tokens, choice.filled)
  }

  return {
    occupied,
    get waiting() {
      return waiting.length
    },
    join: (choice) => {
      waiting.push(choice)
    },
    settle: async () => {
      for (const { slot, choice } of occupied()) if (choice.over) leave(slot, choice)
      for (let index = 0; index < waiting.length && slots.includes(null); ) {
        const choice = waiting[index]
        if (choice === undefined || comesLater(choice)) index += 1
        else {
          waiting.splice(index, 1)
          await sit(slots.indexOf(null), choice)
        }
      }
    },
    dismiss: (id) => {
      const index = waiting.findIndex((choice) => choice.id === id)
      if (index >= 0) waiting.splice(index, 1)[0]?.sampler.dispose()
      for (const { choice } of occupied()) if (choice.id === id) choice.over = true
    },
    spoil: (slot) => {
      const choice = slots[slot]
      if (choice !== null && choice !== undefined) choice.filled = 0
      context.truncate(slot, 0)
      cache.hold(slot, [], 0)
    },
  }
}
