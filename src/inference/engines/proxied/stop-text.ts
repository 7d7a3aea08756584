/** Lets text through up to the first stop sequence, holding back what could still become one. */
export interface StopFilter {
  /** `stopped`: a stop sequence came; nothing after it is let through. */
  push(text: string): { readonly text: string; readonly stopped: boolean }
  /** What was held back, at the end of the text. */
  rest(): string
}

export const stopFilter = (stops: readonly string[]): StopFilter => {
  let held = ''
  /** How much of the end of `held` is the beginning of a stop sequence. */
  const suspicious = (): number => {
    const longest = Math.max(0, ...stops.map((stop) => stop.length - 1))
    for (let length = Math.min(longest, held.length); length > 0; length--) {
      if (stops.some((stop) => stop.startsWith(held.slice(-length)))) return length
    }
    return 0
  }
  return {
    push(text) {
      held += text
      const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0)
      if (found.length > 0) return { text: held.slice(0, Math.min(...found)), stopped: true }
      const free = held.length - suspicious()
      const passed = held.slice(0, free)
      held = held.slice(free)
      return { text: passed, stopped: false }
    },
    rest: () => held,
  }
}
