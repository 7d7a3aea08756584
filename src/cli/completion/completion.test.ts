import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { runInProcess } from '../in-process.fixture.ts'

const hasBash = spawnSync('bash', ['-c', 'true']).status === 0

/** `svc` prints the word to complete and the names of a file. What bash would insert is then run as part of a command. */
const LINE = `
svc() { printf 'last=%s\\n' "\${@: -1}"; cat names; }
COMP_CWORD=3
_svc
eval "printf '%s\\n' \${COMPREPLY[*]}"
`

it.skipIf(!hasBash)('bash inserts names quoted, so that they run no command and match no file', async () => {
  const folder = await emptyFolder()
  const names = ['kiosk$(>ran)', '`>ran`', 'a;>ran', '*', "it's", 'wörld', 'b\\c']
  await writeFile(join(folder, 'names'), `${names.join('\n')}\n`)
  const { stdout: script } = await runInProcess(['completion', 'bash'])
  const typed = (word: string) =>
    spawnSync('bash', ['-c', `${script}COMP_WORDS=(svc devices show '${word}')${LINE}`], {
      cwd: folder,
      encoding: 'utf8',
    })
  expect(typed('')).toMatchObject({ stdout: ['last=', ...names, ''].join('\n'), stderr: '' })
  expect(typed('kiosk\\$')).toMatchObject({ stdout: ['last=kiosk$', ...names, ''].join('\n'), stderr: '' })
  expect(await readdir(folder)).toEqual(['names'])
})
