/** Converts tokens to text as they arrive: whole characters only, and no part of a stop sequence. */
export interface TextStream {
  /** Returns the text that is final after this token, and the stop sequence if one is complete (it is cut off). */
  push(token: number): { readonly text: string; readonly stopped: string | null }
  /** Returns the text held back at the end of the tokens. Drops an incomplete character. */
  end(): string
}

/** Converts tokens to whole characters as they arrive. */
export interface Detokenizer {
  /** Returns the text that is final after this token; '' within a character. */
  push(token: number): string
  /** Returns the rest at the end of the tokens. */
  end(): string
}

// A character has at most four bytes, so no more tokens than that can be an incomplete character.
const MAX_CHARACTER_BYTES = 4
const BROKEN = '\ufffd'

/** A replacement character at the end may be a character that is incomplete so far. */
const createDetokenizer = (detokenize: (tokens: readonly number[]) => string): Detokenizer => {
  // Earlier tokens are decoded, too, because some vocabularies drop the space before a text's first word.
  let before: number[] = []
  let open: number[] = []
  return {
    push: (token) => {
      open.push(token)
      const known = detokenize(before)
      const text = detokenize([...before, ...open])
      if (text.endsWith(BROKEN) && open.length < MAX_CHARACTER_BYTES) return ''
      before = open
      open = []
      return text.slice(known.length)
    },
    end: () => {
      const rest = detokenize([...before, ...open]).slice(detokenize(before).length)
      open = []
      return rest.replace(/\ufffd+$/, '')
    },
  }
}

/** Returns how much of the end of `text` could be the start of one of `stops`. */
const suspicious = (text: string, stops: readonly string[]): number => {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}

const firstStop = (text: string, stops: readonly string[]): { readonly at: number; readonly stop: string } | null =>
  stops.reduce<{ readonly at: number; readonly stop: string } | null>((first, stop) => {
    const at = stop === '' ? -1 : text.indexOf(stop)
    return at >= 0 && (first === null || at < first.at) ? { at, stop } : first
  }, null)

export const createTextStream = (
  detokenize: (tokens: readonly number[]) => string,
  stops: readonly string[],
): TextStream => cutAtStops(createDetokenizer(detokenize), stops)

export const cutAtStops = (detokenizer: Detokenizer, stops: readonly string[]): TextStream => {
  let held = ''
  const take = (more: string): { text: string; stopped: string | null } => {
    held += more
    const found = firstStop(held, stops)
    const certain = held.slice(0, found?.at ?? held.length - suspicious(held, stops))
    held = found === null ? held.slice(certain.length) : ''
    return { text: certain, stopped: found?.stop ?? null }
  }
  return {
    push: (token) => take(detokenizer.push(token)),
    end: () => {
      const { text } = take(detokenizer.end())
      return text + held
    },
  }
}
