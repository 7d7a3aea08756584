import type { ChatEvent, ChatRequest } from '../engine.ts'
import { type EngineRequest, type EngineResponse, errorOf } from './protocol.ts'
import type { Supervisor } from './supervisor.ts'

/** A queue of events for one reader, who gets those before a failure first. */
const createEventQueue = <T>() => {
  const events: T[] = []
  let failure: Error | null = null
  let wake: () => void = () => undefined
  return {
    push: (event: T): void => {
      events.push(event)
      wake()
    },
    fail: (error: Error): void => {
      failure ??= error
      wake()
    },
    next: async (): Promise<T> => {
      for (;;) {
        const event = events.shift()
        if (event !== undefined) return event
        if (failure !== null) throw failure
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

/** Yields the responses to a request. Ends at once, and notifies the process, when `signal` is aborted or the reader stops. */
async function* ask<Response extends EngineResponse>(
  supervisor: Asking,
  requested: EngineRequest,
  signal?: AbortSignal,
): AsyncGenerator<Response> {
  signal?.throwIfAborted()
  const queue = createEventQueue<EngineResponse>()
  const ticket = supervisor.ask(requested, queue.push, queue.fail)
  const abort = (): void => {
    ticket.cancel()
    queue.fail(reasonOf(signal!))
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    for (;;) {
      const response = await queue.next()
      const isLast = response.type !== 'started' && response.type !== 'text' && response.type !== 'reasoning'
      if (isLast) ticket.done()
      if (response.type === 'failed') throw errorOf(response.failure)
      yield response as Response
      if (isLast) return
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    ticket.cancel()
  }
}

export const askChat = (supervisor: Asking, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> =>
  ask(supervisor, { type: 'chat', request }, signal)

/** Sends a request that has a single response. */
export const askOnce = async <Type extends EngineResponse['type']>(
  supervisor: Asking,
  requested: Exclude<EngineRequest, { type: 'chat' }>,
  answer: Type,
  signal?: AbortSignal,
): Promise<Extract<EngineResponse, { type: Type }>> => {
  for await (const response of ask<Extract<EngineResponse, { type: Type }>>(supervisor, requested, signal))
    if (response.type === answer) return response
  throw new Error(`The engine's process did not answer '${answer}'.`)
}
