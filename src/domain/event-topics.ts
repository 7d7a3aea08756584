import { type Caller, holds, isDeviceKey, type Scope } from './access.ts'
import { forbidden } from './errors.ts'

/** What the event stream is about: the kinds of things that change. */
export const EVENT_TOPICS = [
  'round',
  'job',
  'model',
  'rollout',
  'deployment',
  'experiment',
  'policy',
  'device',
  'group',
  'federation',
  'approval',
  'file',
] as const

export type EventTopic = (typeof EVENT_TOPICS)[number]

/** Whoever may read a thing may follow it. */
const SCOPE_OF: Readonly<Record<EventTopic, Scope>> = {
  round: 'training:read',
  job: 'training:read',
  federation: 'training:read',
  model: 'models:read',
  rollout: 'models:read',
  deployment: 'models:read',
  experiment: 'models:read',
  policy: 'models:read',
  device: 'devices:read',
  group: 'devices:read',
  approval: 'models:read',
  file: 'admin',
}

const mayFollow = (caller: Caller, topic: EventTopic): boolean =>
  holds(caller, SCOPE_OF[topic]) && !(topic === 'approval' && isDeviceKey(caller))

/** The topics that the caller may follow, of those it asks for; of all when it asks for none. Throws forbidden. */
export const topicsFor = (caller: Caller, requested: readonly EventTopic[] | null): readonly EventTopic[] => {
  const refused = requested?.find((topic) => !mayFollow(caller, topic))
  if (refused !== undefined) {
    throw forbidden(`topics: '${refused}' needs the scope '${SCOPE_OF[refused]}'. Leave it out, or use another key.`)
  }
  return requested ?? EVENT_TOPICS.filter((topic) => mayFollow(caller, topic))
}
