import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { shellWord } from './shell-word.ts'

it('is one word for a shell, whatever the name contains', () => {
  const names = [
    'lab',
    'first or second',
    "it's",
    '$(touch /tmp/owned)',
    '`id`',
    'a;b',
    'a\nb',
    '*',
    '~',
    '-',
    '=ls',
    '#x',
    '"',
    '\\',
    'é',
    '',
  ]
  for (const name of names) {
    const { stdout } = spawnSync('/bin/sh', ['-c', `printf '[%s]' ${shellWord(name)}`], { encoding: 'utf8' })
    expect(stdout).toBe(`[${name}]`)
  }
  expect(shellWord('robot-7')).toBe('robot-7')
  // Only some shells expand it, such as bash.
  expect(shellWord('lab=~')).toBe("'lab=~'")
})
