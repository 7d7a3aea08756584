import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

it.each([
  ['--foo', "Unknown option '--foo'"],
  ['--devices=0', "--devices must be a whole number from 1 to 1000, got '0'."],
])('%s is wrong usage: prints the error and the usage, and exits with 2', (option, fault) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', MAIN, option], {
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr.startsWith(`${fault}\n\nnpm run demo -- [options]\n`)).toBe(true)
})
