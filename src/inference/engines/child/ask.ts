import type { ChatEvent, ChatRequest } from '../engine.ts'
import { type EngineRequest, type EngineResponse, errorOf } from './protocol.ts'
import type { Supervisor } from './supervisor.ts'

/** A queue of events for one reader. */
interface EventQueue<T> {
  push(event: T): void
  end(): void
  fail(error: Error): void
  next(): Promise<T | null>
}

const createEventQueue = <T>(): EventQueue<T> => {
  const events: T[] = []
  let over = false
  let failure: Error | null = null
  let wake: () => void = () => undefined
  return {
    push: (event) => {
      events.push(event)
      wake()
    },
    end: () => {
      over = true
      wake()
    },
    fail: (error) => {
      failure ??= error
      wake()
    },
    next: async () => {
      for (;;) {
        const event = events.shift()
        if (event !== undefined) return event
        if (failure !== null) throw failure
        if (over) return null
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

export type Asking = Pick<Supervisor<unknown>, 'ask'>

const reasonOf = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new Error('The request was aborted.')

/** Yields a chat's events. Ends at once, and notifies the process, when `signal` is aborted or the reader stops. */
export async function* streamChat(
  supervisor: Asking,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  signal.throwIfAborted()
  const queue = createEventQueue<ChatEvent>()
  const ticket = supervisor.ask(
    { type: 'chat', request },
    (response) => {
      if (response.type === 'failed') queue.fail(errorOf(response.failure))
      else if (response.type === 'started' || response.type === 'text' || response.type === 'finished') {
        queue.push(response)
        if (response.type === 'finished') queue.end()
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

/** Sends a request that has a single response. */
export const askOnce = <Type extends EngineResponse['type']>(
  supervisor: Asking,
  requested: Exclude<EngineRequest, { type: 'chat' }>,
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
      requested,
      (response) => {
        signal?.removeEventListener('abort', abort)
        ticket.done()
        if (response.type === 'failed') reject(errorOf(response.failure))
        else if (response.type === answer) resolve(response as Extract<EngineResponse, { type: Type }>)
        else reject(new Error(`The engine's process answered '${response.type}' instead of '${answer}'.`))
      },
      (error) => {
        signal?.removeEventListener('abort', abort)
        reject(error)
      },
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
