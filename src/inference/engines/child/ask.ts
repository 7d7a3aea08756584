import type { ChatEvent, ChatRequest } from '../engine.ts'
import { createEventQueue } from './event-queue.ts'
import { errorOf } from './failure.ts'
import type { EngineRequest, EngineResponse } from './protocol.ts'
import type { Supervisor } from './supervisor.ts'

type Asking = Pick<Supervisor<unknown>, 'ask'>

const reasonOf = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new Error('The request was aborted.')

/** A chat's events. Ends at once, and the process is told, when `signal` is aborted or the reader leaves. */
export async function* converse(
  supervisor: Asking,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  signal.throwIfAborted()
  const queue = createEventQueue<ChatEvent>()
  const ticket = supervisor.ask(
    { type: 'chat', request },
    (said) => {
      if (said.type === 'failed') queue.fail(errorOf(said.failure))
      else if (said.type === 'started' || said.type === 'text' || said.type === 'finished') {
        queue.push(said)
        if (said.type === 'finished') queue.end()
      }
    },
    queue.fail,
  )
  const abort = (): void => {
    ticket.cancel()
    queue.fail(reasonOf(signal))
  }
  signal.addEventListener('abort', abort, { once: true })
  try {
    for (let event = await queue.next(); event !== null; event = await queue.next()) {
      if (event.type === 'finished') ticket.done()
      yield event
    }
  } finally {
    signal.removeEventListener('abort', abort)
    ticket.cancel()
  }
}

/** Asks for what has one answer. */
export const askOnce = <Type extends EngineResponse['type']>(
  supervisor: Asking,
  asked: Exclude<EngineRequest, { type: 'chat' }>,
  answer: Type,
  signal?: AbortSignal,
): Promise<Extract<EngineResponse, { type: Type }>> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      ticket.cancel()
      reject(reasonOf(signal!))
    }
    const ticket = supervisor.ask(
      asked,
      (said) => {
        signal?.removeEventListener('abort', abort)
        ticket.done()
        if (said.type === 'failed') reject(errorOf(said.failure))
        else if (said.type === answer) resolve(said as Extract<EngineResponse, { type: Type }>)
        else reject(new Error(`The engine's process answered '${said.type}' instead of '${answer}'.`))
      },
      (error) => {
        signal?.removeEventListener('abort', abort)
        reject(error)
      },
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
