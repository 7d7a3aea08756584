import { useCallback, useEffect, useRef, useState } from 'react'
import { type components, unwrap } from '../../../client/client.ts'
import { errorMessage } from '../../../domain/error-message.ts'
import { api } from '../../api/client.ts'
import { newParser, parseChunk } from '../../live/sse-parser.ts'
import { afterEvent, NEW_REPLY, type Reply } from './chat-reply.ts'

export interface Turn {
  readonly key: number
  readonly question: string
  readonly model: string
  readonly reply: Reply
}

interface ChatSettings {
  readonly model: string
  readonly temperature: number
  readonly maxTokens: number
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** Returns the conversation, without turns that failed or were stopped before their first word. */
const messagesOf = (turns: readonly Turn[]): Message[] =>
  turns
    .filter(({ reply }) => reply.text !== '')
    .flatMap(({ question, reply }): Message[] => [
      { role: 'user', content: question },
      { role: 'assistant', content: reply.text },
    ])

const notesIn = (headers: Headers): Readonly<Record<string, string>> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-service-') && name !== 'x-service-warning'))

type Body = components['schemas']['Chat']

/** Sends a question and calls `onReply` whenever more of the reply has arrived. A failure is part of the reply. */
const stream = async (body: Body, signal: AbortSignal, onReply: (reply: Reply) => void): Promise<void> => {
  const started = performance.now()
  const ms = (): number => performance.now() - started
  let reply = NEW_REPLY
  const tell = (next: Reply): void => {
    reply = next
    onReply(reply)
  }
  try {
    const response = await api.POST('/api/v1/inference/chat/completions', { body, signal, parseAs: 'stream' })
    const bytes = await unwrap(Promise.resolve(response as { data?: ReadableStream<Uint8Array>; response: Response }))
    reply = { ...reply, notes: notesIn(response.response.headers) }
    let parser = newParser('')
    const reader = bytes
      .pipeThrough(new TextDecoderStream() as never)
      .getReader() as ReadableStreamDefaultReader<string>
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const parsed = parseChunk(parser, piece.value)
      parser = parsed.parser
      tell(parsed.events.reduce((before, event) => afterEvent(before, event, ms()), reply))
    }
    if (reply.state === 'running') tell({ ...reply, state: 'finished', endMs: ms() })
  } catch (error) {
    if (signal.aborted) tell({ ...reply, state: 'stopped', endMs: ms() })
    else tell({ ...reply, state: 'failed', error: errorMessage(error), endMs: ms() })
  }
}

/** A chat with one model. It is not stored: it ends with the page. */
export const useChat = () => {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const running = useRef<AbortController>(null)
  const stop = useCallback(() => running.current?.abort(), [])
  useEffect(() => stop, [stop])

  const ask = (question: string, { model, temperature, maxTokens }: ChatSettings): void => {
    stop()
    const control = new AbortController()
    running.current = control
    const key = turns.length
    const messages = [...messagesOf(turns), { role: 'user' as const, content: question }]
    setTurns([...turns, { key, question, model, reply: NEW_REPLY }])
    void stream(
      { model, messages, temperature, max_tokens: maxTokens, stream: true, stream_options: { include_usage: true } },
      control.signal,
      (reply) => setTurns((now) => now.map((turn) => (turn.key === key ? { ...turn, reply } : turn))),
    )
  }
  const clear = (): void => {
    stop()
    setTurns([])
  }
  return { turns, ask, stop, clear, busy: turns.at(-1)?.reply.state === 'running' }
}

export type Chat = ReturnType<typeof useChat>
