import { EventEmitter, on } from 'node:events'
import type { Interface } from 'node:readline'

/** What the user entered: one line, or several that were pasted or are enclosed in `"""`. */
export interface ChatInput {
  readonly text: string
  /** Only a single line without quotes can be a command. */
  readonly isCommand: boolean
}

export const PROMPT = '> '
const MORE = '. '
const QUOTES = '"""'

const isOpen = (text: string): boolean => text.startsWith(QUOTES) && !isQuoted(text)

const isQuoted = (text: string): boolean =>
  text.length >= 2 * QUOTES.length && text.startsWith(QUOTES) && text.endsWith(QUOTES)

const inputOf = (text: string): ChatInput => {
  if (isQuoted(text)) return { text: text.slice(QUOTES.length, -QUOTES.length).trim(), isCommand: false }
  return { text, isCommand: text.startsWith('/') && !text.includes('\n') }
}

/**
 * Reads what the user enters, until the input is closed. In a terminal with bracketed paste, pasted lines are one text, which
 * is sent with Enter.
 */
export const createChatInput = (lines: Interface, keys: NodeJS.ReadableStream) => {
  const joined = new EventEmitter()
  let held: string[] = []
  let isPasting = false
  const onKey = (_text: unknown, key: { readonly name?: string } | undefined): void => {
    if (key?.name === 'paste-start') isPasting = true
    if (key?.name === 'paste-end') isPasting = false
  }
  const setHeld = (kept: string[]): void => {
    held = kept
    lines.setPrompt(kept.length === 0 ? PROMPT : MORE)
  }
  keys.on('keypress', onKey)
  lines.on('line', (line) => {
    setHeld([...held, line])
    if (isPasting) return
    const text = held.join('\n').trim()
    if (isOpen(text)) return lines.prompt()
    setHeld([])
    joined.emit('input', inputOf(text))
  })
  lines.on('close', () => {
    keys.off('keypress', onKey)
    joined.emit('close')
  })
  // Listens from now on: what is entered before it is read is kept.
  const inputs = on(joined, 'input', { close: ['close'] }) as AsyncIterableIterator<[ChatInput]>
  return {
    /** Drops what was entered but not sent. */
    drop: (): void => {
      // The mark of a paste's end may be lost.
      isPasting = false
      setHeld([])
      lines.write(null, { ctrl: true, name: 'e' })
      lines.write(null, { ctrl: true, name: 'u' })
    },
    inputs,
  }
}
