/** The text that tokens become as they arrive: whole characters only, and never a part of a stop sequence. */
export interface TextStream {
  /** Text that is certain after this token, and the stop sequence that is complete and was cut off, if one is. */
  push(token: number): { readonly text: string; readonly stopped: string | null }
  /** What was held back, once there will be no more tokens; half a character is dropped. */
  end(): string
}

/** Whole characters of tokens, as they arrive. */
export interface Detokenizer {
  /** Text that is certain after this token; '' in the middle of a character. */
  push(token: number): string
  /** What is left, once there will be no more tokens. */
  end(): string
}

// No character takes more bytes than four, so no more tokens than that can be half a character.
const MAX_CHARACTER_BYTES = 4
const BROKEN = '\ufffd'

/** Characters of several tokens are told from broken ones by the replacement character at the end. */
const createDetokenizer = (detokenize: (tokens: readonly number[]) => string): Detokenizer => {
  // The tokens before the open ones go along: some vocabularies drop the space before a text's first word.
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

/** How much of the end of `text` could be the beginning of one of `stops`. */
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
