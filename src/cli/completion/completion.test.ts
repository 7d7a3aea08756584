import { spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { shellWord } from '../../domain/shell-word.ts'
import { runInProcess } from '../in-process.fixture.ts'

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

/** `svc` prints the word to complete and the names of a file. What bash would insert is then run as part of a command. */
const LINE = `
svc() { printf 'last=%s\\n' "\${@: -1}"; cat names; }
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_svc svc "$replaced"
eval "printf '%s\\n' \${COMPREPLY[*]}"
`

it.skipIf(!has('bash'))('bash inserts names quoted, so that they run no command and match no file', async () => {
  const folder = await emptyFolder()
  const names = ['kiosk$(>ran)', '`>ran`', 'a;>ran', '*', "it's", 'wörld', 'b\\c', 'aa:bb', 'c=d']
  await writeFile(join(folder, 'names'), `${names.join('\n')}\n`)
  const { stdout: script } = await runInProcess(['completion', 'bash'])
  /** As bash calls it: `words` is how it splits the word that is typed, and `replaced` the part that a completion replaces. */
  const typed = (words: readonly string[], replaced = words.at(-1)!) => {
    const comp = `COMP_WORDS=(svc devices show ${words.map(shellWord).join(' ')})`
    const line = `COMP_LINE=${shellWord(`svc devices  show ${words.join('')}`)} replaced=${shellWord(replaced)}`
    const env = { ...process.env, LC_ALL: 'C.UTF-8' }
    return spawnSync('bash', ['-c', `${script}${comp} ${line}${LINE}`], { cwd: folder, encoding: 'utf8', env })
  }
  const last = (word: string, found = names) => ({ stdout: [`last=${word}`, ...found, ''].join('\n'), stderr: '' })
  expect(typed([''])).toMatchObject(last(''))
  expect(typed(['kiosk\\$'])).toMatchObject(last('kiosk$'))
  expect(typed(['b\\\\'])).toMatchObject(last('b\\'))
  const without = (part: string) => names.map((name) => name.replace(part, ''))
  expect(typed(['aa', ':', 'b'])).toMatchObject(last('aa:b', without('aa:')))
  expect(typed(['aa', ':'], '')).toMatchObject(last('aa:', without('aa:')))
  expect(typed(['c', '=', 'd'])).toMatchObject(last('c=d', without('c=')))
  // What would have to be quoted is not offered within quotes.
  for (const quote of ['"', "'"])
    expect(typed([`${quote}aa:b`], 'aa:b')).toMatchObject(last('aa:b', ['wörld', 'aa:bb', 'c=d']))
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
  const stubs = `compdef() { : }; compadd() { : }; _files() { : }; svc() { print -r -- "$@" >&3 }`
  // zsh keeps a quote that is still open out of PREFIX.
  for (const quote of ['', '"']) {
    const words = String.raw`words=(svc devices show '${quote}kiosk\ \$') CURRENT=4 PREFIX='kiosk\ \$'`
    const { stdout, stderr } = spawnSync('zsh', ['-fc', `${stubs}; exec 3>&1; ${script}${words}; _svc`], {
      encoding: 'utf8',
    })
    expect({ stdout, stderr }).toEqual({ stdout: '__complete -- devices show kiosk $\n', stderr: '' })
  }
})
