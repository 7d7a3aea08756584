import { randomInt } from 'node:crypto'
import type { ChatRequest, Engine, Finished } from '../../inference/engines/engine.ts'
import { Failure } from '../failure.ts'

export interface Reply {
  readonly text: string
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

/** Generates an answer with a model in this process. @throws Failure if the model cannot chat */
export const generateReply = async (
  engine: Engine,
  request: Pick<ChatRequest, 'messages' | 'maxTokens' | 'temperature'>,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<Reply> => {
  if (engine.chat === undefined) {
    throw new Failure(`The model '${engine.model.name}' is not a chat model.`, {
      advice: 'For embeddings use svc embed, for speech svc transcribe.',
    })
  }
  let text = ''
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
    else if (event.type === 'text') {
      text += event.text
      onText(event.text)
    } else if (event.type === 'finished') {
      return { text, promptTokens: event.result.prompt?.tokens ?? promptTokens, result: event.result }
    }
  }
  throw new Failure('The engine ended without a reply.')
}
