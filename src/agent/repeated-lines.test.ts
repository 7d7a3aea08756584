import { expect, it } from 'vitest'
import { limitRepeats, suppressRepeats } from './repeated-lines.ts'

const played = (...runs: readonly { readonly lines: readonly string[]; readonly failed: boolean }[]) => {
  const shown: string[] = []
  const output = suppressRepeats((line) => shown.push(line))
  return runs.map(({ lines, failed }) => {
    for (const line of lines) output.line(line)
    output.end({ isToBeRemembered: failed })
    return shown.splice(0)
  })
}

const traceback = ['Traceback (most recent call last):', '  File "train.py", line 3', 'ValueError: no rows']
const same = ['(the same output as before)']

it('a run that fails like the one before is summarized in one line', () => {
  const run = { lines: traceback, failed: true }
  expect(played(run, run, run)).toEqual([traceback, same, same])
})

it('a run that differs, in its last line or by having fewer lines, is shown in full', () => {
  const other = [...traceback.slice(0, 2), 'ValueError: too few rows']
  const fewer = traceback.slice(0, 2)
  expect(
    played({ lines: traceback, failed: true }, { lines: other, failed: true }, { lines: fewer, failed: true }),
  ).toEqual([traceback, other, fewer])
})

it('the output of a successful run is always shown, and not remembered', () => {
  const good = { lines: traceback, failed: false }
  expect(played({ lines: traceback, failed: true }, good, { lines: traceback, failed: true })).toEqual([
    traceback,
    traceback,
    traceback,
  ])
})

it('a run with very many lines is shown to its end', () => {
  const lines = Array.from({ length: 3000 }, (_, index) => `line ${index}`)
  expect(played({ lines, failed: true }, { lines, failed: true })).toEqual([lines, lines])
})

it('a message that repeats is logged ever more rarely, whatever its delay, until its cause is over', () => {
  const logged: string[] = []
  const outages = limitRepeats((message) => logged.push(message))
  for (let time = 1; time <= 700; time++) {
    outages.log(`No response. Trying again in ${time}.5 s.`)
    if (time === 3) outages.log('No response.')
  }
  const times = [1, 2, 'No response.', 4, 8, 16, 32, 64, 128, 256, 300, 512, 600]
  expect(logged).toEqual(
    times.map((time) => (time === 'No response.' ? time : `No response. Trying again in ${time}.5 s.`)),
  )
  outages.reset()
  outages.log('No response.')
  expect(logged.at(-1)).toBe('No response.')
  expect(logged).toHaveLength(times.length + 1)
})
