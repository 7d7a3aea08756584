import type { ChatEvent, ChatRequest, Engine } from '../../engine.ts'
import { InferenceError } from '../../errors.ts'
import { createEventQueue } from './event-queue.ts'
import { type LlamaOptions, settingsOf } from './settings.ts'
import { type Supervisor, superviseEngine } from './supervisor.ts'

export type { DraftOptions, LlamaOptions } from './settings.ts'

/** Ends at once, and the process is told, when `signal` is aborted or the reader leaves. */
async function* converse(supervisor: Supervisor, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  signal.throwIfAborted()
  const queue = createEventQueue<ChatEvent>()
  const ticket = supervisor.ask(
    { type: 'chat', request },
    (happening) => {
      if (happening.type === 'failed') {
        const { code, message, param } = happening.failure
        queue.fail(new InferenceError(code, message, param === null ? {} : { param }))
      } else if (happening.type !== 'counted') {
        const { id: _, ...event } = happening
        queue.push(event)
        if (event.type === 'finished') queue.end()
      }
    },
    queue.fail,
  )
  const abort = (): void => {
    ticket.cancel()
    queue.fail(signal.reason instanceof Error ? signal.reason : new Error('The request was aborted.'))
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

/**
 * A GGUF model in a process of its own, which is replaced when it dies.
 * @throws InferenceError invalid_model, engine_missing, out_of_memory
 */
export const openLlamaEngine = async (options: LlamaOptions): Promise<Engine> => {
  const settings = settingsOf(options)
  const supervisor = await superviseEngine(settings, options)
  const { facts } = supervisor
  return {
    name: 'llama.cpp',
    model: {
      name: options.name,
      path: options.path,
      parameters: facts.parameters,
      contextTokens: facts.contextTokens,
      memoryBytes: facts.memoryBytes,
    },
    slots: facts.slots,
    chat: (request, signal) => converse(supervisor, request, signal),
    countTokens: (messages) =>
      new Promise((resolve, reject) => {
        const ticket = supervisor.ask(
          { type: 'count', messages },
          (happening) => {
            ticket.done()
            if (happening.type === 'counted') resolve(happening.tokens)
            else if (happening.type === 'failed')
              reject(new InferenceError(happening.failure.code, happening.failure.message))
          },
          reject,
        )
      }),
    figures: () => supervisor.figures,
    close: supervisor.close,
  }
}
