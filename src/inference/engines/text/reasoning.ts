import type { ReasoningSwitch } from '../engine.ts'
import { firstStop, suspicious } from './text-stream.ts'

/** A part of a reply: what the model says, or what it wrote before to work that out. */
export interface TextPart {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

/** Reads a reply as it arrives. */
export interface ReplyReader {
  push(text: string): readonly TextPart[]
  /** Returns what is held back at the end of the reply. */
  end(): readonly TextPart[]
  isReasoning(): boolean
}

const OPEN = '<think>'
const CLOSE = '</think>'

const part = (type: TextPart['type'], text: string): readonly TextPart[] => (text === '' ? [] : [{ type, text }])

/** For replies without reasoning. */
export const plainReply: ReplyReader = {
  push: (text) => part('text', text),
  end: () => [],
  isReasoning: () => false,
}

/** True or false if a request turns reasoning on or off; undefined if it leaves that to the model. */
export const reasoningIn = (request: ReasoningSwitch = {}): boolean | undefined =>
  request.isOff || request.reasoning_effort === 'none' ? false : request.chat_template_kwargs?.enable_thinking

/** True if a model with this template may reason between marks before it answers, as DeepSeek R1 and Qwen 3 were trained. */
export const mayReason = (template: string | null): boolean => template?.includes(CLOSE) === true

/**
 * Returns a detokenizer that shows the marks, also where the vocabulary calls them special, as some fine-tuned ones do: such
 * tokens are otherwise left out of texts, and the end of the reasoning would be lost.
 */
export const showMarks = (
  tokenize: (text: string) => ArrayLike<number>,
  detokenize: (tokens: readonly number[], special: boolean) => string,
): ((tokens: readonly number[]) => string) => {
  const isHidden = (tokens: readonly number[], mark: string): boolean =>
    tokens.length === 1 && detokenize(tokens, false) === '' && detokenize(tokens, true).trim() === mark
  const hidden = new Set(
    [OPEN, CLOSE].flatMap((mark) => {
      const tokens = Array.from(tokenize(mark))
      return isHidden(tokens, mark) ? tokens : []
    }),
  )
  return (tokens) =>
    detokenize(
      tokens,
      tokens.some((token) => hidden.has(token)),
    )
}

/** True if a prompt ends within the model's reasoning. */
export const endsInReasoning = (prompt: string): boolean => prompt.trimEnd().endsWith(OPEN)

/** Ends the reasoning that a prompt has begun, in the form that Qwen 3 was trained on. */
export const withoutReasoning = (prompt: string): string =>
  endsInReasoning(prompt) ? `${prompt.trimEnd()}\n\n${CLOSE}\n\n` : prompt

/**
 * Separates the reasoning at the beginning of a reply from its text. Spaces and line breaks around either are dropped.
 *
 * @param begun whether the prompt ends within the reasoning
 * @param call how a function call begins, which also ends the reasoning; null if the reply has none
 */
export const createReasoningReader = (begun: boolean, call: string | null): ReplyReader => {
  const ends = call === null ? [CLOSE] : [CLOSE, call]
  let at: 'start' | 'reasoning' | 'gap' | 'text' = begun ? 'reasoning' : 'start'
  let isFirst = true
  let held = ''

  const readStart = (): readonly TextPart[] => {
    const begin = held.trimStart()
    if (begin.length < OPEN.length && OPEN.startsWith(begin)) return []
    if (!begin.startsWith(OPEN)) {
      at = 'text'
      return read()
    }
    at = 'reasoning'
    held = begin.slice(OPEN.length)
    return read()
  }

  const reasoning = (text: string): readonly TextPart[] => {
    const given = isFirst ? text.trimStart() : text
    isFirst &&= given === ''
    return part('reasoning', given)
  }

  const readReasoning = (): readonly TextPart[] => {
    const found = firstStop(held, ends)
    if (found === null) {
      const certain = held.slice(0, held.length - suspicious(held, ends)).trimEnd()
      held = held.slice(certain.length)
      return reasoning(certain)
    }
    const before = held.slice(0, found.at).trimEnd()
    held = held.slice(found.at + (found.stop === CLOSE ? CLOSE.length : 0))
    at = 'gap'
    return [...reasoning(before), ...read()]
  }

  const read = (): readonly TextPart[] => {
    if (at === 'start') return readStart()
    if (at === 'reasoning') return readReasoning()
    if (at === 'gap') {
      held = held.trimStart()
      if (held !== '') at = 'text'
    }
    const text = held
    held = ''
    return part('text', text)
  }

  return {
    push: (text) => {
      held += text
      return read()
    },
    end: () => (at === 'reasoning' ? reasoning(held.trimEnd()) : part('text', held)),
    isReasoning: () => at === 'reasoning',
  }
}
