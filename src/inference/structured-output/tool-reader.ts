import { isTriggered, type ToolSyntax } from './tool-syntax.ts'

/** A part of a reply. Arguments belong to the call before them. */
export type ReplyPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly name: string }
  | { readonly type: 'arguments'; readonly text: string }

/** Reads a reply written under a grammar of toolGrammar as it arrives. */
export const createToolReader = (syntax: ToolSyntax) => {
  const { trigger, anywhere, beforeName, beforeArguments } = syntax
  let at: 'text' | 'name' | 'arguments' = 'text'
  let held = ''
  let emitted = ''
  let scan = createObjectScan()

  /** Returns how much of the end of `held` may still become a trigger. */
  const suspicious = (): number => {
    if (!anywhere) return emitted === '' && trigger.startsWith(held) ? held.length : 0
    let length = Math.min(held.length, trigger.length - 1)
    while (!trigger.startsWith(held.slice(held.length - length))) length--
    return length
  }

  const emit = (given: string): ReplyPart[] => {
    // Some vocabularies put a space before the first word of a text.
    const text = emitted === '' ? given.replace(/^ /, '') : given
    emitted += text
    return text === '' ? [] : [{ type: 'text', text }]
  }

  const readText = (): ReplyPart[] => {
    if ((anywhere || emitted === '') && isTriggered(syntax, held)) {
      const start = held.indexOf(trigger)
      // The line break that models write between text and call belongs to neither.
      const before = held.slice(0, start).trimEnd()
      held = held.slice(start + trigger.length)
      at = 'name'
      return [...emit(before), ...read()]
    }
    const certain = held.slice(0, held.length - suspicious())
    const spaces = certain.length - certain.trimEnd().length
    const now = certain.slice(0, certain.length - spaces)
    held = held.slice(now.length)
    return emit(now)
  }

  const readName = (): ReplyPart[] => {
    const start = held.indexOf(beforeName)
    const stop = start < 0 ? -1 : held.indexOf(beforeArguments, start + beforeName.length)
    if (stop < 0) return []
    const name = held.slice(start + beforeName.length, stop)
    held = held.slice(stop + beforeArguments.length)
    at = 'arguments'
    scan = createObjectScan()
    return [{ type: 'call', name }, ...read()]
  }

  const readArguments = (): ReplyPart[] => {
    const length = scan(held)
    const text = held.slice(0, length ?? held.length)
    held = held.slice(text.length)
    const part: ReplyPart[] = text === '' ? [] : [{ type: 'arguments', text }]
    if (length === null) return part
    at = 'name'
    return [...part, ...read()]
  }

  const read = (): ReplyPart[] => {
    if (at === 'text') return readText()
    return at === 'name' ? readName() : readArguments()
  }

  return {
    push: (text: string): readonly ReplyPart[] => {
      held += text
      return read()
    },
    /** Returns the text held back at the end of the reply. */
    end: (): readonly ReplyPart[] => (at === 'text' ? emit(held) : []),
  }
}

/** Finds the end of a JSON object in pieces: returns how many characters of a piece belong to it; null while all do. */
const createObjectScan = (): ((piece: string) => number | null) => {
  let depth = 0
  let inString = false
  let escaped = false
  return (piece) => {
    for (let i = 0; i < piece.length; i++) {
      const character = piece[i]!
      if (escaped) escaped = false
      else if (inString) {
        if (character === '\\') escaped = true
        else if (character === '"') inString = false
      } else if (character === '"') inString = true
      else if (character === '{') depth++
      else if (character === '}' && --depth === 0) return i + 1
    }
    return null
  }
}
