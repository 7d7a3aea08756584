import { type Caller, holds, isDeviceKey, type Scope } from './access.ts'
import { forbidden } from './errors.ts'

/** The topics of the event stream: the kinds of things that change. */
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

/** The scope for reading a thing also allows following its events. */
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

/** Returns the requested topics, or all permitted ones if none are requested. Throws forbidden for a topic not permitted. */
export const topicsFor = (caller: Caller, requested: readonly EventTopic[] | null): readonly EventTopic[] => {
  const refused = requested?.find((topic) => !mayFollow(caller, topic))
  if (refused === 'approval' && holds(caller, SCOPE_OF.approval)) {
    throw forbidden("topics: a device's own key cannot follow 'approval'. Leave it out, or use another key.")
  }
  if (refused !== undefined) {
    throw forbidden(`topics: '${refused}' needs the scope '${SCOPE_OF[refused]}'. Leave it out, or use another key.`)
  }
  return requested ?? EVENT_TOPICS.filter((topic) => mayFollow(caller, topic))
}
