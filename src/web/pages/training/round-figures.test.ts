import { expect, it } from 'vitest'
import { figuresOf } from './round-figures.ts'

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString()

it('a round is cut into its phases by what the service wrote down', () => {
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

it('what has not happened yet is not known', () => {
  expect(figuresOf({ started_at: at(0), completed_at: null }, [{ model_fetched_at: null }], [], null)).toEqual({
    pickedUp: null,
    trained: null,
    aggregated: null,
    uploadedBytes: 0,
    downloadedBytes: null,
  })
})
