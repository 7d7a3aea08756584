import { expect, it } from 'vitest'
import {
  countedForOthers,
  departed,
  NOT_DELIVERED,
  NOT_DELIVERED_IN_TIME,
  NOT_RUNNING,
  notCompleted,
  reasonForOthers,
  STOPPED_HEARTBEATS,
  TOO_OLD,
} from './failure-reasons.ts'

it.each([
  NOT_DELIVERED,
  NOT_DELIVERED_IN_TIME,
  NOT_RUNNING,
  TOO_OLD,
  STOPPED_HEARTBEATS,
  departed('acme'),
  'Did not fetch the plan within 30 s.',
  'All 3 requested rounds are completed.',
  'The training job was stopped.',
  'The round was canceled.',
])('what the service says of a device is shown to other organizations: %s', (reason) => {
  expect(reasonForOthers(reason, 'The round was canceled.')).toBe(reason)
})

it.each(['patient 4711', 'Did not fetch the plan within 30 s. patient 4711', ''])(
  "a device's own description is not shown to them: %s",
  (reason) => expect(reasonForOthers(reason, null)).toBe('The device reported a failure.'),
)

it("nor are other devices' descriptions that ended the round", () => {
  expect(reasonForOthers(notCompleted('2 of 2 devices failed: patient 4711 (2)'), null)).toBe(
    'The round could no longer be completed.',
  )
})

it('counts all descriptions by devices as one reason', () => {
  const reasons = [
    { reason: 'patient 4711', count: 2 },
    { reason: NOT_DELIVERED_IN_TIME, count: 3 },
    { reason: 'patient 4712', count: 2 },
  ]
  expect(countedForOthers(reasons)).toEqual([
    { reason: 'The device reported a failure.', count: 4 },
    { reason: NOT_DELIVERED_IN_TIME, count: 3 },
  ])
})
