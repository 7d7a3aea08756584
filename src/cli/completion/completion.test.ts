import { spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { runInProcess } from '../in-process.fixture.ts'

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

/** `svc` prints the word to complete and the names of a file. What bash would insert is then run as part of a command. */
const LINE = `
svc() { printf 'last=%s\\n' "\${@: -1}"; cat names; }
COMP_CWORD=3
_svc
eval "printf '%s\\n' \${COMPREPLY[*]}"
`

it.skipIf(!has('bash'))('bash inserts names quoted, so that they run no command and match no file', async () => {
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

it.skipIf(!has('fish'))('fish completes names that it has quoted in part', async () => {
  const folder = await emptyFolder()
  await writeFile(join(folder, 'names'), 'kiosk $(>ran)\n')
  const { stdout: script } = await runInProcess(['completion', 'fish'])
  const typed = (line: string) =>
    spawnSync(
      'fish',
      ['-c', `function svc; echo $argv[-1] >> asked; cat names; end; ${script}; complete -C '${line}'`],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, HOME: folder },
      },
    ).stdout
  for (const word of ['ki', 'kiosk\\\\ ', 'kiosk\\\\ \\\\$', '"kiosk '])
    expect(typed(`svc devices show ${word}`)).toBe('kiosk $(>ran)\n')
  expect((await readFile(join(folder, 'asked'), 'utf8')).split('\n')).toEqual(['ki', 'kiosk ', 'kiosk $', 'kiosk ', ''])
})

it.skipIf(!has('zsh'))('zsh completes names that it has quoted in part', async () => {
  const { stdout: script } = await runInProcess(['completion', 'zsh'])
  const words = String.raw`words=(svc devices show 'kiosk\ \$') CURRENT=4`
  const stubs = `compdef() { : }; compadd() { : }; _files() { : }; svc() { print -r -- "$@" >&3 }`
  const { stdout, stderr } = spawnSync('zsh', ['-fc', `${stubs}; exec 3>&1; ${script}${words}; _svc`], {
    encoding: 'utf8',
  })
  expect({ stdout, stderr }).toEqual({ stdout: '__complete -- devices show kiosk $\n', stderr: '' })
})
