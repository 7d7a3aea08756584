import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InferenceError } from '../errors.ts'
import type { ChatMeter } from './chat-metrics.ts'
import { logFailure, toldAs } from './error-answers.ts'
import { openEventStream } from './event-stream.ts'
import type { ChoiceEvent } from './run-choices.ts'
import { accelerationHeaders, addEvent, NOTHING, type Tally } from './usage.ts'

const ALIVE_EVERY_MS = 15_000

/** What becomes of a chat's events in a stream of some API. '' is nothing. */
export interface Frames {
  /** `tally` is what is known with this event. */
  event(choice: ChoiceEvent, tally: Tally): string
  end(tally: Tally): string
  /** Nothing follows it. */
  error(error: InferenceError): string
  /** Nothing to clients, and a sign of life to whatever is between them and us. */
  readonly alive: string
}

export interface StreamedChat {
  readonly frames: Frames
  readonly headers: Readonly<Record<string, string>>
  readonly events: AsyncIterable<ChoiceEvent>
  readonly meter: ChatMeter
  readonly signal: AbortSignal
}

/**
 * Sends the chat as it is made. A failure before the first event is thrown; a later one is sent as the last event. What only
 * the end can tell, about speculation, is in the usage of the last chunk and in trailers.
 */
export const streamChat = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { frames, headers, events, meter, signal }: StreamedChat,
): Promise<FastifyReply> => {
  const stream = openEventStream(reply, {
    signal,
    headers,
    trailers: ['X-Service-Speculative', 'X-Service-Early-Exit-Tokens'],
    alive: { frame: frames.alive, everyMs: ALIVE_EVERY_MS },
  })
  let tally = NOTHING
  try {
    for await (const choice of events) {
      tally = addEvent(tally, choice)
      meter.saw(choice)
      const frame = frames.event(choice, tally)
      if (frame !== '') await stream.send(frame)
    }
    await stream.send(frames.end(tally))
    stream.end(accelerationHeaders(tally))
    meter.finished(tally)
  } catch (error) {
    if (signal.aborted || !stream.begun()) throw error
    const reported = toldAs(error, request)
    logFailure(reported, request)
    meter.failed(error)
    await stream.send(frames.error(reported))
    stream.end({})
  } finally {
    stream.end({})
  }
  return reply
}
