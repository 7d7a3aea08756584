import { expect, it } from 'vitest'
import { createOutput } from './output.ts'
import { pagerOf } from './pager.ts'

const collect = (isTTY: boolean, env: Record<string, string> = {}) => {
  const texts = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({ isTTY, write: (text: string) => void (texts[name] += text) })
  return { out: createOutput({ stdout: sink('stdout'), stderr: sink('stderr'), env, cwd: '/' }), texts }
}

it('aligns the columns of a table and shows null as a dash', () => {
  const { out, texts } = collect(false)
  out.table(
    ['ID', 'NAME'],
    [
      ['1', 'phones'],
      ['1234', null],
    ],
  )
  expect(texts.stdout).toBe('ID    NAME\n1     phones\n1234  -\n')
})

it('colors the header on a terminal, unless NO_COLOR is set or the terminal is dumb', () => {
  const headOf = (isTTY: boolean, env: Record<string, string>) => {
    const { out, texts } = collect(isTTY, env)
    out.table(['ID'], [])
    return texts.stdout
  }
  expect(headOf(true, {})).toBe('\u001b[1mID\u001b[22m\n')
  expect([headOf(true, { NO_COLOR: '1' }), headOf(true, { TERM: 'dumb' }), headOf(false, {})]).toEqual(
    Array(3).fill('ID\n'),
  )
})

it('names from elsewhere cannot control the terminal or break a table', () => {
  const { out, texts } = collect(false)
  out.table(['NAME'], [['a\u001b[2Jb'], ['two\nlines']])
  out.line('bell\u0007')
  out.note('title\u009d')
  expect(texts).toEqual({ stdout: 'NAME\na\u{fffd}[2Jb\ntwo lines\nbell\u{fffd}\n', stderr: 'title\u{fffd}\n' })
})

it('removes characters that change the text direction, and escapes them in JSON', () => {
  const { out, texts } = collect(false)
  const name = 'invoice\u202efdp.exe\u2066\u200f\u061c'
  out.line(name)
  out.table(['NAME'], [[name]])
  out.note(name)
  const shown = 'invoice\u{fffd}fdp.exe\u{fffd}\u200f\u061c'
  expect(texts).toEqual({ stdout: `${shown}\nNAME\n${shown}\n`, stderr: `${shown}\n` })
  texts.stdout = ''
  out.json({ name: `${name}\u009d` })
  expect(texts.stdout).toContain('"invoice\\u202efdp.exe\\u2066\u200f\u061c\\u009d"')
  expect(JSON.parse(texts.stdout)).toEqual({ name: `${name}\u009d` })
})

it('hides keys in notes', () => {
  const { out, texts } = collect(false)
  out.note('unknown option --key=sk_live_0123456789abcdef!')
  expect(texts.stderr).toBe('unknown option --key=sk_live_…!\n')
})

it('Windows, which has no less, needs no pager', async () => {
  expect(await pagerOf({}, 'win32')('a long table\n')).toBe(false)
})
