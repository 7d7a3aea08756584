import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { LLAMA_PROGRAM } from '../llama/settings.ts'
import { startAhead, startProgram } from './engine-process.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const answer = async (child: ReturnType<typeof startProgram>): Promise<unknown> => {
  const told = once(child, 'message')
  child.send({ type: 'transcribe', id: 1 })
  return (await told)[0]
}

test('a process that was started ahead is used once; the next one is new', async () => {
  const ahead = startAhead(LLAMA_PROGRAM)
  const [first, second] = [startProgram(LLAMA_PROGRAM), startProgram(LLAMA_PROGRAM)]
  try {
    expect(first).toBe(ahead)
    expect(second).not.toBe(ahead)
    for (const child of [first, second])
      expect(await answer(child)).toMatchObject({ type: 'step', events: [{ id: 1 }] })
  } finally {
    for (const child of [first, second]) child.kill('SIGKILL')
  }
})

test('a process that ended before it was needed is replaced', async () => {
  const ahead = startAhead(LLAMA_PROGRAM)
  const ended = once(ahead, 'exit')
  ahead.kill('SIGKILL')
  await ended
  const child = startProgram(LLAMA_PROGRAM)
  try {
    expect(child).not.toBe(ahead)
    expect(await answer(child)).toMatchObject({ type: 'step' })
  } finally {
    child.kill('SIGKILL')
  }
})

test('a program that never uses the process exits at once, and the process ends with it', async () => {
  const modules = ['./engine-process.ts', '../llama/settings.ts'].map((file) => new URL(file, import.meta.url).href)
  const script = `
    const [{ startAhead }, { LLAMA_PROGRAM }] = await Promise.all(${JSON.stringify(modules)}.map((file) => import(file)))
    console.log(startAhead(LLAMA_PROGRAM).pid)`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '--eval',
    script,
  ])
  const pid = Number(stdout)
  expect(pid).toBeGreaterThan(0)
  await expect.poll(() => isAlive(pid)).toBe(false)
})
