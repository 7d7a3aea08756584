import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { runInProcess } from '../in-process.fixture.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/** Runs `svc run` on a terminal; each line is typed once the output contains the text before it. */
const talk = async (typed: readonly (readonly [after: string, line: string])[], cwd = process.cwd()) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  let seen = ''
  const next = [...typed]
  const onOutput = (text: string): void => {
    seen += text
    while (next[0] !== undefined && seen.includes(next[0][0])) {
      seen = seen.slice(seen.indexOf(next[0][0]) + next[0][0].length)
      stdin.write(next.shift()![1])
    }
  }
  const env = { SERVICE_HOME: await emptyFolder() }
  const ran = await runInProcess(['run', 'starter', '--temperature', '0', '--max-tokens', '1000'], {
    env,
    stdin,
    cwd,
    onOutput,
  })
  return { ...ran, left: next.length }
}

it('run without a prompt starts a chat that remembers the conversation and saves it', async () => {
  const cwd = await emptyFolder()
  const ran = await talk(
    [
      ['> ', '/system Be brief.\n'],
      ['> ', 'What is the capital of France?\n'],
      ['Paris.', ''],
      ['> ', '/save chat.json\n'],
      ['> ', '/nothing\n'],
      ['> ', '/clear\n'],
      ['> ', '/exit\n'],
    ],
    cwd,
  )
  expect(ran).toMatchObject({
    exitCode: 0,
    left: 0,
    stdout: expect.stringContaining('The capital of France is Paris.'),
  })
  expect(ran.stderr).toMatch(
    /System message: Be brief\.[\s\S]*Saved 2 messages[\s\S]*There is no \/nothing\.[\s\S]*Began a new conversation\./,
  )
  expect(JSON.parse(await readFile(join(cwd, 'chat.json'), 'utf8')).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is the capital of France?' },
    { role: 'assistant', content: 'The capital of France is Paris.' },
  ])
})

it('Ctrl-C stops an answer but not the chat; Ctrl-D ends the chat', async () => {
  const cwd = await emptyFolder()
  const ran = await talk(
    [
      ['> ', 'Count from 1 to 20.\n'],
      ['3, ', CTRL_C],
      ['> ', CTRL_C],
      ['quits.', '/save cut.json\n'],
      ['Saved', CTRL_D],
    ],
    cwd,
  )
  expect(ran).toMatchObject({ exitCode: 0, left: 0 })
  const { messages } = JSON.parse(await readFile(join(cwd, 'cut.json'), 'utf8'))
  expect(messages).toHaveLength(2)
  expect(messages[1].content).toMatch(/^1, 2, 3/)
})

it('pasted lines and lines between """ are one message, which is never a command', async () => {
  const cwd = await emptyFolder()
  const ran = await talk(
    [
      ['> ', '\u001b[200~/usr/bin/what\rWhat is the capital of France?\u001b[201~'],
      ['of France?', '\r'],
      ['> ', '"""What is\n'],
      ['. ', 'the capital of Japan?"""\n'],
      ['> ', '"""/exit"""\n'],
      ['> ', '/save chat.json\n'],
      ['Saved', CTRL_D],
    ],
    cwd,
  )
  expect(ran).toMatchObject({ exitCode: 0, left: 0 })
  const { messages } = JSON.parse(await readFile(join(cwd, 'chat.json'), 'utf8'))
  expect(messages.flatMap(({ role, content }: Record<string, string>) => (role === 'user' ? [content] : []))).toEqual([
    '/usr/bin/what\nWhat is the capital of France?',
    'What is\nthe capital of Japan?',
    '/exit',
  ])
})

it('Ctrl-C drops a message that has begun', async () => {
  const cwd = await emptyFolder()
  const ran = await talk(
    [
      ['> ', '"""Count\n'],
      ['. ', 'to 20'],
      ['to 20', CTRL_C],
      ['> ', 'What is the capital of France?\n'],
      ['Paris', '/save chat.json\n'],
      ['Saved', CTRL_D],
    ],
    cwd,
  )
  expect(ran).toMatchObject({ exitCode: 0, left: 0 })
  const { messages } = JSON.parse(await readFile(join(cwd, 'chat.json'), 'utf8'))
  expect(messages[0].content).toBe('What is the capital of France?')
})

it('Ctrl-C ends a paste whose end was lost', async () => {
  const ran = await talk([
    ['> ', '\u001b[200~What\ris'],
    ['is', CTRL_C],
    ['> ', 'What is the capital of France?\n'],
    ['Paris', CTRL_D],
  ])
  expect(ran).toMatchObject({ exitCode: 0, left: 0 })
})

it('a chat that was suspended with Ctrl-Z continues', async () => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    setImmediate(() => process.emit('SIGCONT', 'SIGCONT'))
    return true
  })
  const ran = await talk([
    ['> ', 'What is the capital\u001a'],
    ['> ', ' of France?\n'],
    ['Paris', CTRL_D],
  ])
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGTSTP']])
  kill.mockRestore()
  expect(ran).toMatchObject({ exitCode: 0, left: 0 })
})
