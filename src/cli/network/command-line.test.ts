import { expect, it } from 'vitest'
import { batchCommand } from './command-line.ts'

/** As cmd.exe reads a line in which no quote is unescaped. */
const readOnce = (line: string): string => line.replace(/\^(.)/g, '$1')

it.each([
  ['fix the bug', '"fix the bug"'],
  ['{name="svc",base_url="http://localhost:8080/v1"}', '"{name=\\"svc\\",base_url=\\"http://localhost:8080/v1\\"}"'],
  ['C:\\models\\', '"C:\\models\\\\"'],
  ['say \\"hi\\" & del *', '"say \\\\\\"hi\\\\\\" & del *"'],
  ['100%', '"100%"'],
])('the argument %s reaches a program of npm unchanged on Windows', (word, quoted) => {
  const path = 'C:\\Program Files (x86)\\codex.cmd'
  const line = readOnce(batchCommand(path, [word]).slice(1, -1))
  expect(line.slice(0, path.length + 3)).toBe(`"${path}" `)
  // The arguments are read again where the .cmd file passes them on.
  expect(readOnce(line.slice(path.length + 3))).toBe(quoted)
})
