import type { ToolSyntax } from '../../structured-output/tool-syntax.ts'

interface StreamedText {
  readonly text: string
  /** The stop sequence if one is complete; it is cut off. */
  readonly stopped: string | null
}

/** Converts tokens to text as they arrive: whole characters only, and no part of a stop sequence. */
export interface TextStream {
  /** Returns the text that is final after this token, and the token's own text, which is '' within a character. */
  push(token: number): StreamedText & { readonly read: string }
  /** Returns the text held back at the end of the tokens. Drops an incomplete character. */
  end(): StreamedText
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

/**
 * A replacement character at the end may be a character that is incomplete so far.
 *
 * @param before what the tokens continue. Earlier tokens are decoded, too, because some vocabularies drop the space before a
 * text's first word.
 */
export const createDetokenizer = (
  detokenize: (tokens: readonly number[]) => string,
  before: readonly number[] = [],
): Detokenizer => {
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
export const suspicious = (text: string, stops: readonly string[]): number => {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}

export const firstStop = (
  text: string,
  stops: readonly string[],
): { readonly at: number; readonly stop: string } | null =>
  stops.reduce<{ readonly at: number; readonly stop: string } | null>((first, stop) => {
    const at = stop === '' ? -1 : text.indexOf(stop)
    return at >= 0 && (first === null || at < first.at) ? { at, stop } : first
  }, null)

/** @param syntax set if the reply may call functions. Clients do not see how calls are written, so calls are not searched. */
export const cutAtStops = (
  detokenizer: Detokenizer,
  stops: readonly string[],
  syntax: ToolSyntax | null = null,
): TextStream => {
  const take = createStopSearch(stops, syntax)
  return {
    push: (token) => {
      const read = detokenizer.push(token)
      return { ...take(read, false), read }
    },
    end: () => take(detokenizer.end(), true),
  }
}

/** Returns a function that takes more text, and returns what is final after it: at the end, or before a call, everything. */
export const createStopSearch = (
  stops: readonly string[],
  syntax: ToolSyntax | null = null,
): ((more: string, isEnd: boolean) => StreamedText) => {
  let held = ''
  let callMayBegin = syntax !== null
  let inCalls = false
  /** Returns where in `held` a call begins or, until the end, may begin; its length if nowhere. */
  const textEnd = (isEnd: boolean): number => {
    if (!callMayBegin) return held.length
    const { trigger, anywhere } = syntax!
    const at = anywhere ? held.indexOf(trigger) : held.startsWith(trigger) ? 0 : -1
    inCalls = at >= 0
    if (inCalls) return at
    if (anywhere) return isEnd ? held.length : held.length - suspicious(held, [trigger])
    callMayBegin = !isEnd && trigger.startsWith(held)
    return callMayBegin ? 0 : held.length
  }
  /** Returns where a stop sequence begins that is complete unless its end begins a call. */
  const undecidedAt = (): number => firstStop(held, stops)?.at ?? held.length
  return (more, isEnd) => {
    held += more
    const end = inCalls ? 0 : textEnd(isEnd)
    const found = firstStop(held.slice(0, end), stops)
    const certain =
      found === null && (inCalls || isEnd)
        ? held
        : held.slice(0, found?.at ?? Math.min(end, undecidedAt(), held.length - suspicious(held, stops)))
    held = found === null ? held.slice(certain.length) : ''
    return { text: certain, stopped: found?.stop ?? null }
  }
}
