import { expect, it } from 'vitest'
import { eventFile } from './event-file.ts'
import type { Round } from './job-rounds.ts'

const round = (fields: object): Round => fields as Round

// Written by TensorBoard 2.21's RecordWriter from its own Event messages.
const EXPECTED =
  'GAAAAAAAAACjf0siCQAAAEBuVdpBGg1icmFpbi5FdmVudDoyw0ht/CAAAAAAAAAAKe2pUAkAACBPblXaQRABKhMKEQoKdHJhaW4vbG9zcxUAAAA/KjvzNVgAAAAAAAAAoosvjAkAAABtblXaQRADKksKEQoKdHJhaW4vbG9zcxUAAIA+ChUKDnRyYWluL2FjY3VyYWN5FQAAQD8KDwoIdHJhaW4vZjEVzcxMPwoOCgdldmFsL2YxFTMzMz+9B/YT'

it("equals TensorBoard's file for the same scalars, with a step for each completed round", () => {
  const rounds = [
    round({ round_number: 1, completed_at: '2026-01-01T00:01:00.500Z', loss: 0.5, accuracy: null, metrics: {} }),
    // Another job's rounds and failed ones are not counted, a completed one without figures is.
    round({ round_number: 7, completed_at: null, loss: null, metrics: {} }),
    round({ round_number: 8, completed_at: '2026-01-01T00:02:00Z', loss: null, metrics: {} }),
    round({
      round_number: 11,
      completed_at: '2026-01-01T00:03:00Z',
      loss: 0.25,
      accuracy: 0.75,
      metrics: { f1: { mean: 0.8 } },
      evaluation: { metrics: { f1: { mean: 0.7 } } },
    }),
  ]
  expect(eventFile(rounds, new Date('2026-01-01T00:00:00Z')).toString('base64')).toBe(EXPECTED)
})
