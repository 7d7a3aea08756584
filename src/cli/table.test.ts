import { expect, it } from 'vitest'
import { layOut, widthOf } from './table.ts'

const ID = '91565580-0c54-45ef-8061-64dd56c9c6e6'

const ROUNDS = [
  ['ROUND', 'STATUS', 'UPDATES', 'FAILED', 'LOSS', 'ACCURACY', 'STRATEGY', 'STARTED', 'ID'],
  ['4', 'completed', '6/6', '0', '0.3418', '92.1 %', 'fedavg', '2026-11-23 04:18', ID],
  ['3', 'failed', '2/6', '4', '-', '-', 'fedavg', '2026-11-23 04:17', ID],
]
const ROLLOUTS = [
  ['MODEL', 'VERSION', 'STATUS', 'AT', 'TARGET', 'NEXT STEP', 'CREATED', 'ID'],
  ['next-word-prediction-de-at', '1.1.0', 'active', '10 %', '100 %', '2026-11-23 05:29', '2026-11-23 04:29', ID],
  ['模型', '1.0.0', 'completed', '100 %', '100 %', '-', '2026-11-22 04:29', ID],
]
const at = (rows: readonly string[][], width: number | null, right: readonly number[]) =>
  layOut(rows, { width, right: new Set(right) })

it('shows everything that fits; in 80 columns, what distinguishes rows', () => {
  expect(at(ROUNDS, 80, [0, 3, 4, 5])).toEqual([
    'ROUND  STATUS     UPDAT…  FAILED    LOSS  ACCUR…  STRATE…  STARTED      ID',
    '    4  completed  6/6          0  0.3418  92.1 %  fedavg   11-23 04:18  91565580',
    '    3  failed     2/6          4       -       -  fedavg   11-23 04:17  91565580',
  ])
  expect(at(ROLLOUTS, 80, [3, 4])).toEqual([
    'MODEL       VERSI…  STATUS        AT  TARGET  NEXT STEP    CREATED      ID',
    'next-word…  1.1.0   active      10 %   100 %  11-23 05:29  11-23 04:29  91565580',
    '模型        1.0.0   completed  100 %   100 %  -            11-22 04:29  91565580',
  ])
})

it('shows more in 120 columns, and everything without a limit', () => {
  expect(at(ROUNDS, 120, [0, 3, 4, 5])[1]).toContain(ID)
  expect(at(ROLLOUTS, 120, [3, 4])[1]).toContain('next-word-prediction-de-at  1.1.0')
  expect(at(ROLLOUTS, null, [3, 4])[1]).toContain(ID)
})

it('is never wider than the terminal', () => {
  for (const rows of [ROUNDS, ROLLOUTS])
    for (const width of [80, 100, 120, 200])
      for (const line of at(rows, width, [3, 4])) expect([line, widthOf(line) <= width]).toEqual([line, true])
})
