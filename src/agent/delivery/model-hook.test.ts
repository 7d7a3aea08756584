import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, onTestFinished, test } from 'vitest'
import { readLines } from '../run-command.ts'
import { emptyFolder } from './delivery.fixture.ts'
import { commandHook, type HookTask, metricsOf } from './model-hook.ts'

const task: HookTask = {
  path: '/models/a.bin',
  modelName: 'scorer',
  modelId: 'm-1',
  version: '2.0.0',
  format: 'gguf',
  previousPath: null,
  signal: new AbortController().signal,
}

const hookOf = (program: string, cwd?: string, timeoutSeconds = 60) =>
  commandHook({ command: `"${process.execPath}" -e '${program}'`, cwd, timeoutSeconds, onLine: () => undefined })

test('a hook gets its task from the environment, and prints its metrics on the last line', async () => {
  const cwd = await emptyFolder()
  const hook = hookOf(
    `const names = ["PATH", "NAME", "ID", "VERSION", "FORMAT", "PREVIOUS_PATH"]
    require("fs").writeFileSync("env", names.map((name) => process.env["MODEL_" + name]).join("|"))
    console.log("loaded"); console.log(JSON.stringify({ accuracy: 0.91, loss: 0.3, note: "x", more: [1] })); console.log("")`,
    cwd,
  )
  expect(await hook.run(task)).toEqual({ accuracy: 0.91, loss: 0.3 })
  expect(await readFile(join(cwd, 'env'), 'utf8')).toBe('/models/a.bin|scorer|m-1|2.0.0|gguf|')
})

test.each([
  ['console.error("loading"); console.error("no such layer"); process.exit(2)', 'no such layer'],
  ['console.log("said on stdout"); process.exit(2)', 'said on stdout'],
  ['process.exit(2)', 'The --on-model command ended with exit code 2.'],
])('the last line of a failed hook is the reason: %s', async (program, message) => {
  await expect(hookOf(program).run(task)).rejects.toMatchObject({ name: 'HookFailed', message })
})

test('an endless line is cut, and the next line counts', async () => {
  const program = `process.stdout.write("x".repeat(1 << 22)); console.log("\\n" + JSON.stringify({ accuracy: 0.5 }))`
  const lengths: number[] = []
  const command = `"${process.execPath}" -e '${program}'`
  const hook = commandHook({ command, timeoutSeconds: 200, onLine: (line) => lengths.push(line.length) })
  expect(await hook.run(task)).toEqual({ accuracy: 0.5 })
  expect(lengths).toEqual([65_537, 16])
})

test('lines are separated at any line ending, even if it is split between chunks', async () => {
  const lines: string[] = []
  const stream = new PassThrough()
  readLines(stream, 4, (line) => lines.push(line))
  for (const piece of ['ab\r', '\nc', 'd\n\nlong', 'er\r1', '\r', '2\r\n', 'é'.repeat(5)]) stream.write(piece)
  stream.end()
  await finished(stream)
  expect(lines).toEqual(['ab', 'cd', '', 'long', '1', '2', 'éééé'])
})

test('a hook that hangs is stopped', async () => {
  await expect(hookOf('setTimeout(() => {}, 60_000)', undefined, 0.5).run(task)).rejects.toMatchObject({
    name: 'HookFailed',
    message: 'The --on-model command was stopped after 0.5 s.',
  })
})

/** A program that leaves another one running in a separate session with the same output. */
const leaving = `const { pid } = require("child_process").spawn(process.execPath, ["-e", "setInterval(() => 0, 1e6)"], {
  stdio: "inherit", detached: true })
  require("fs").writeFileSync("pid", String(pid)); console.log(JSON.stringify({ accuracy: 0.5 }));`

test.each([
  ['that succeeds', 'process.exit(0)', { accuracy: 0.5 }],
  ['that fails', 'console.error("no such layer"); process.exit(2)', 'no such layer'],
  ['that hangs', 'setInterval(() => 0, 1e6)', 'The --on-model command was stopped after 1.5 s.'],
])('a hook %s ends in time even if it leaves a server running in another session', async (_, end, outcome) => {
  const cwd = await emptyFolder()
  onTestFinished(async () => void process.kill(Number(await readFile(join(cwd, 'pid'), 'utf8')), 'SIGKILL'))
  const run = hookOf(`${leaving} ${end}`, cwd, 1.5).run(task)
  expect(await run.catch((error: Error) => error.message)).toEqual(outcome)
})

test('hooks are distinguished by their command lines', () => {
  const digests = ['1', '1', '2'].map((program) => hookOf(program).digest)
  expect(digests.map((digest) => digests.indexOf(digest))).toEqual([0, 0, 2])
})

test.each([
  ['{"accuracy": 0.5}', { accuracy: 0.5 }],
  ['{"accuracy": 1e999, "loss": 2}', { loss: 2 }],
  ['{"accuracy": 1, "__proto__": 2, "constructor": 3}', { accuracy: 1, constructor: 3 }],
  ['{"a\\u0000": 1, "\\ud800": 2}', null],
  ['{"accuracy": "high"}', null],
  ['{"accuracy": 0.5', null],
  ['[0.5]', null],
  ['done', null],
  [null, null],
])('only finite numbers on the last line count as metrics: %s', (line, metrics) => {
  expect(metricsOf(line)).toEqual(metrics)
})
