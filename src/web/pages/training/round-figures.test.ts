import { expect, it } from 'vitest'
import { figuresOf, jobRoundsOf, timeInRounds, timesOf } from './round-figures.ts'
import type { Round } from './training-records.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString()

it('splits a round into phases by the recorded times', () => {
  const round = { started_at: at(0), completed_at: at(30) }
  const participants = [{ model_fetched_at: at(4) }, { model_fetched_at: at(2) }, { model_fetched_at: null }]
  const updates = [
    { created_at: at(20), model_size_bytes: 100 },
    { created_at: at(29), model_size_bytes: 50 },
  ]
  expect(figuresOf(round, participants, updates, 10)).toEqual({
    pickedUp: 2000,
    trained: 27_000,
    aggregated: 1000,
    uploadedBytes: 150,
    downloadedBytes: 20,
  })
})

it('is null for what has not happened yet', () => {
  expect(figuresOf({ started_at: at(0), completed_at: null }, [{ model_fetched_at: null }], [], null)).toEqual({
    pickedUp: null,
    trained: null,
    aggregated: null,
    uploadedBytes: 0,
    downloadedBytes: null,
  })
})

it('sums the time in completed, failed, and current rounds, without that between them', () => {
  const rounds = [
    { started_at: at(50), completed_at: null, ended_at: null },
    { started_at: at(20), completed_at: null, ended_at: at(22) },
    { started_at: at(10), completed_at: at(14), ended_at: at(14) },
    { started_at: null, completed_at: null, ended_at: null },
  ]
  expect(timeInRounds(rounds, new Date(at(55)))).toBe(11_000)
  expect(timeInRounds([], new Date(at(55)))).toBeNull()
})

it('numbers the rounds of a job, of which only the latest are listed', () => {
  const rounds = [{ round_number: 15 }, { round_number: 20 }, { round_number: 17 }] as Round[]
  expect(jobRoundsOf({ rounds, total: 1500 })).toEqual([
    { round_number: 20, jobRound: 1500 },
    { round_number: 17, jobRound: 1499 },
    { round_number: 15, jobRound: 1498 },
  ])
})

it.each([
  ['selected', null, null, false, 'Model fetched: not yet; update delivered: not yet'],
  ['delivered', at(1), at(9), true, 'Model fetched: after 1.0 s; update delivered: after 9.0 s'],
  ['absent', null, at(9), false, 'Model fetched: not yet; update delivered: not yet, absent after 9.0 s'],
  // It reported nothing until the round timed out.
  ['failed', null, at(86_400), true, 'Model fetched: never; update delivered: never, failed after 1 d'],
  ['failed', at(1), at(86_400), true, 'Model fetched: after 1.0 s; update delivered: never, failed after 1 d'],
] as const)('describes the times of a participant that is %s', (state, model_fetched_at, reported_at, isOver, told) => {
  expect(timesOf({ state, selected_at: at(0), model_fetched_at, reported_at }, isOver)).toBe(told)
})
