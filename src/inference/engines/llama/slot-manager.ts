import { isWriting, type Occupied } from './batch-plan.ts'
import type { BatchContext } from './binding/batch-context.ts'
import type { Choice } from './choice.ts'
import { type PrefixCache, sharedLength } from './prefix-cache.ts'

/**
 * Assigns choices to slots. Requests queue in the server's process (runtime/queue/admission.ts), which sends no more than there
 * are slots. Here a choice waits only for a slot that is about to be free, or for a prompt with the same beginning.
 */
export interface SlotManager {
  /** In ascending order of slots. */
  occupied(): Occupied[]
  readonly waiting: number
  enqueue(choice: Choice): void
  /** Allocates all slots. Running choices are computed again. */
  grow(): Promise<void>
  /** Frees the slots of choices that are over, and gives the lowest free slots to the choices that have waited longest. */
  assign(): Promise<void>
  /** Removes a waiting choice at once; one in a slot leaves at the next assignment. */
  cancel(id: number): void
  /** Empties a slot with unreliable keys and values. */
  invalidate(slot: number): void
}

// A prompt waits for one that is being computed if that saves at least this many tokens.
const WORTH_WAITING = 32

export const createSlotManager = (count: number, context: BatchContext, cache: PrefixCache): SlotManager => {
  const slots: (Choice | null)[] = Array.from({ length: count }, () => null)
  const waiting: Choice[] = []

  const occupied = (): Occupied[] => slots.flatMap((choice, slot) => (choice === null ? [] : [{ slot, choice }]))

  /** True if a prompt with the same beginning is being computed. That part is then copied instead of computed twice. */
  const comesLater = (choice: Choice): boolean => {
    if (!cache.enabled || choice.log?.promptPart) return false
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
    cache.noteContent(slot, choice.tokens, choice.filled)
    if (!cache.enabled) context.truncate(slot, 0)
  }

  const occupy = async (slot: number, choice: Choice): Promise<void> => {
    slots[slot] = choice
    try {
      // Only tokens that are computed can be scored.
      choice.filled = await cache.restore(slot, choice.log?.promptPart ? [] : choice.tokens)
    } catch {
      context.truncate(slot, 0)
      choice.filled = 0
    }
    choice.cachedTokens = choice.filled
    cache.noteContent(slot, choice.tokens, choice.filled)
  }

  const grow = async (): Promise<void> => {
    if (!(await context.grow())) return
    cache.clear()
    for (const { choice } of occupied()) choice.filled = 0
  }

  return {
    occupied,
    grow,
    get waiting() {
      return waiting.length
    },
    enqueue: (choice) => {
      waiting.push(choice)
    },
    assign: async () => {
      for (const { slot, choice } of occupied()) if (choice.over) leave(slot, choice)
      if (waiting.length > context.sequences - occupied().length) await grow()
      for (let index = 0; index < waiting.length && occupied().length < context.sequences; ) {
        const choice = waiting[index]
        if (choice === undefined || comesLater(choice)) index += 1
        else {
          waiting.splice(index, 1)
          await occupy(slots.indexOf(null), choice)
        }
      }
    },
    cancel: (id) => {
      const index = waiting.findIndex((choice) => choice.id === id)
      if (index >= 0) waiting.splice(index, 1)[0]?.sampler.dispose()
      for (const { choice } of occupied()) if (choice.id === id) choice.over = true
    },
    invalidate: (slot) => {
      const choice = slots[slot]
      if (choice !== null && choice !== undefined) choice.filled = 0
      context.truncate(slot, 0)
      cache.noteContent(slot, [], 0)
    },
  }
}
