import { expect, it } from 'vitest'
import type { Output } from '../output.ts'
import { type JobDetail, printJob } from './job.ts'

const round = { status: 'completed', loss: null, accuracy: null, completed_devices: 3 }

const notesOf = (settings: object): string[] => {
  const notes: string[] = []
  const out = { fields: () => {}, line: () => {}, table: () => {}, note: (text: string) => notes.push(text) }
  const absent = { reason: null, secure_aggregation: null, waiting_until: null, waiting_for: null, privacy: null }
  const job = { ...absent, strategy_options: {}, published: [], federation_id: 'f', rounds: 1, rounds_completed: 1 }
  printJob(out as unknown as Output, { ...job, history: [round], ...settings } as unknown as JobDetail)
  return notes
}

it.each([
  ['a federation without figures', {}, 1],
  ['a federation with a loss', { history: [round, { ...round, loss: 0.5 }] }, 0],
  ['a federation with private rounds', { privacy: {} }, 0],
  ['a federation whose first round is not completed', { history: [{ ...round, status: 'active' }] }, 0],
  ['one organization', { federation_id: null }, 0],
])('the job of %s is printed with a note on withheld figures, or without', (_, settings, count) => {
  expect(notesOf(settings)).toEqual(Array(count).fill(expect.stringContaining('at least five devices')))
})
