import { randomInt } from 'node:crypto'
import type { ChatEvent, ChatRequest, Engine, Finished } from '../../inference/engines/engine.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { dimmed, withoutControlCharacters } from '../output.ts'

export interface Reply {
  readonly text: string
  readonly reasoning: string
  readonly promptTokens: number
  readonly result: Finished
}

/** Says that a reply is not whole, and why; null if it is. */
export const incompleteNote = ({ reason, completionTokens }: Finished, maxTokens: number): string | null => {
  if (reason === 'stop') return null
  if (reason !== 'length') return 'The reply was stopped by the content filter of the server.'
  const cut = `The reply was cut off after ${completionTokens} tokens`
  return completionTokens < maxTokens
    ? `${cut}: the context is full. Shorten the prompt, or use a longer --context.`
    : `${cut}. Raise the limit with --max-tokens.`
}

type Part = Extract<ChatEvent, { readonly type: 'text' | 'reasoning' }>

/** Prints a reply as it arrives: the text to stdout, the reasoning to whoever watches, on stderr. */
export const replyPrinter = ({ stdout, stderr, env }: Io) => {
  let isReasoning = false
  let line = ''
  return {
    print: ({ type, text }: Part): void => {
      const shown = withoutControlCharacters(text)
      if (type === 'text') {
        if (isReasoning) stderr.write('\n\n')
        stdout.write(shown)
      } else if (stderr.isTTY) stderr.write(dimmed(shown, stderr, env))
      isReasoning = type === 'reasoning' && stderr.isTTY === true
      line = type === 'text' ? shown.slice(-1) : ''
    },
    /** Ends the last line. */
    end: (): void => {
      if (isReasoning) stderr.write('\n')
      if (line !== '' && line !== '\n') stdout.write('\n')
    },
  }
}

/** Generates an answer with a model in this process. @throws Failure if the model cannot chat */
export const generateReply = async (
  engine: Engine,
  request: Pick<ChatRequest, 'messages' | 'maxTokens' | 'temperature'>,
  signal: AbortSignal,
  onPart: (part: Part) => void,
): Promise<Reply> => {
  if (engine.chat === undefined) {
    throw new Failure(`The model '${engine.model.name}' is not a chat model.`, {
      advice: 'For embeddings use svc embed, for speech svc transcribe.',
    })
  }
  const parts = { text: '', reasoning: '' }
  let promptTokens = 0
  const whole = {
    ...request,
    topP: 0.9,
    seed: randomInt(2 ** 32 - 1),
    stop: [],
    responseFormat: { type: 'text' },
  } as const
  for await (const event of engine.chat(whole, signal)) {
    if (event.type === 'started') promptTokens = event.promptTokens
    else if (event.type === 'text' || event.type === 'reasoning') {
      parts[event.type] += event.text
      onPart(event)
    } else if (event.type === 'finished') {
      return { ...parts, promptTokens: event.result.prompt?.tokens ?? promptTokens, result: event.result }
    }
  }
  throw new Failure('The engine ended without a reply.')
}
