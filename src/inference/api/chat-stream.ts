import type { FastifyReply, FastifyRequest } from 'fastify'
import { ALIVE, type ChatIdentity, chatFrames, DONE, errorFrame } from './chat-frames.ts'
import type { ChatMeter } from './chat-metrics.ts'
import { logFailure, toldAs } from './error-answers.ts'
import { openEventStream } from './event-stream.ts'
import type { ChoiceEvent } from './run-choices.ts'
import { accelerationHeaders, addEvent, NOTHING } from './usage.ts'

const ALIVE_EVERY_MS = 15_000

export interface StreamedChat {
  readonly identity: ChatIdentity
  readonly includeUsage: boolean
  readonly choices: number
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
  { identity, includeUsage, choices, headers, events, meter, signal }: StreamedChat,
): Promise<FastifyReply> => {
  const frames = chatFrames(identity, includeUsage)
  const stream = openEventStream(reply, {
    signal,
    headers,
    trailers: ['X-Service-Speculative', 'X-Service-Early-Exit-Tokens'],
    alive: { frame: ALIVE, everyMs: ALIVE_EVERY_MS },
  })
  let tally = NOTHING
  let running = choices
  try {
    for await (const choice of events) {
      const { index, event } = choice
      tally = addEvent(tally, choice)
      meter.saw(choice)
      if (event.type === 'started') await stream.send(frames.role(index))
      else if (event.type === 'text') await stream.send(frames.text(index, event.text))
      else {
        running--
        // Without a chunk for the usage, early exit is told in the last one that there is.
        const reported = running === 0 && !includeUsage && tally.earlyExitTokens > 0 ? tally : null
        await stream.send(frames.finish(index, event.result.reason, reported))
      }
    }
    await stream.send((includeUsage ? frames.usage(tally) : '') + DONE)
    stream.end(accelerationHeaders(tally))
    meter.finished(tally)
  } catch (error) {
    if (signal.aborted || !stream.begun()) throw error
    const reported = toldAs(error, request)
    logFailure(reported, request)
    meter.failed(error)
    await stream.send(errorFrame(reported))
    stream.end({})
  } finally {
    stream.end({})
  }
  return reply
}
