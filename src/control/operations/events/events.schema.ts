import { Type } from 'typebox'
import { EVENT_TOPICS } from '../../../domain/event-topics.ts'

export const EventsQuery = Type.Object({
  topics: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: `Separated by commas: ${EVENT_TOPICS.join(', ')}. The default is all that the key may read.`,
      examples: ['round,job'],
    }),
  ),
})

export const EventsHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ maxLength: 64, description: 'The id of the last event received; the stream continues after it' }),
  ),
})

/** Server-sent events: `id`, `event` and `data`, which is JSON. */
export const EventStream = Type.Unsafe<unknown>({
  type: 'string',
  description:
    'Each event has an id, a type, and the data {"type", "subject": {"kind", "id"}, "payload", "time"}. A stream without ' +
    'Last-Event-ID starts with `ready`. After `resync`, reload all data: events were missed.',
})

export const NoStream = Type.Unsafe<void>({
  description: 'The key or the process has too many open streams, or the service is stopping; poll instead',
})
