import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { TrainingTask } from './agent-trainer.ts'
import { commandTrainer } from './command-trainer.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'command trainer '))
})
afterEach(() => rm(folder, { recursive: true }))

const raw = { round_id: 'r-1', strategy: 'fedavg', hyperparameters: { name: '$(touch hacked) "; touch hacked' } }
const task = (changes: Partial<TrainingTask> = {}): TrainingTask => ({
  plan: {
    roundId: 'r-1',
    roundNumber: 1,
    strategy: 'fedavg',
    hyperparameters: raw.hyperparameters,
    timeoutAt: Date.now() + 60_000,
    model: null,
    jobId: null,
    control: null,
    raw,
  },
  globalWeights: null,
  control: null,
  memory: null,
  folder,
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  ...changes,
})

/** A shell script as a trainer. Its function `report` writes new weights, and metrics. */
const program = async (body: string, onLine?: (line: string) => void) => {
  const path = join(folder, 'train.sh')
  await writeFile(
    path,
    `report() { printf new > "$SERVICE_OUTPUT_WEIGHTS"; printf '%s' "$1" > "$SERVICE_OUTPUT_METRICS"; }\n${body}`,
  )
  return commandTrainer({ command: `sh "${path}"`, cwd: folder, ...(onLine && { onLine }) })
}

test('a command reads the plan and the global weights, and writes new weights and metrics', async () => {
  const globalWeights = join(folder, 'global.safetensors')
  await writeFile(globalWeights, 'old')
  const lines: string[] = []
  const trainer = await program(
    `echo "$SERVICE_ROUND_ID" "$(grep -o fedavg "$SERVICE_PLAN")" "$(cat "$SERVICE_GLOBAL_WEIGHTS")"
    report '{ "num_samples": 12, "loss": 0.5, "accuracy": 0.75 }'`,
    (line) => lines.push(line),
  )
  const outcome = await trainer.train(task({ globalWeights }))
  expect(outcome).toEqual({
    weights: expect.stringMatching(/run-\w+.update\.safetensors$/),
    report: { numSamples: 12, localLoss: 0.5, localAccuracy: 0.75, trainingTimeSeconds: expect.any(Number) },
    globalModel: null,
  })
  expect(await readFile(outcome.weights, 'utf8')).toBe('new')
  expect(JSON.parse(await readFile(join(dirname(outcome.weights), 'plan.json'), 'utf8'))).toEqual(raw)
  expect(lines).toEqual(['r-1 fedavg old'])
  await expect(readFile(join(folder, 'hacked'))).rejects.toThrow('ENOENT')
})

test('in a round without a model, the command gets no weights, and loss and accuracy may be absent', async () => {
  const trainer = await program(
    `[ "\${SERVICE_GLOBAL_WEIGHTS-none}" = none ] && report '{ "num_samples": 1, "loss": null }'`,
  )
  const { weights, report } = await trainer.train(task())
  expect([weights, report]).toEqual([
    expect.stringContaining('update.weights'),
    { numSamples: 1, localLoss: undefined, localAccuracy: undefined, trainingTimeSeconds: expect.any(Number) },
  ])
})

test.each([
  [
    'echo "line 1" >&2; echo "no such file" >&2; exit 3',
    'The trainer ended with exit code 3. Its output:\nline 1\nno such file',
  ],
  ['echo "only this"; exit 1', 'The trainer ended with exit code 1. Its output:\nonly this'],
  ['kill -KILL $$; sleep 1000', 'The trainer ended with '],
  ['', 'The trainer wrote no weights to the file named by SERVICE_OUTPUT_WEIGHTS.'],
  ['echo x > "$SERVICE_OUTPUT_WEIGHTS.npz"', ' It wrote update.weights.npz instead of update.weights.'],
  [': > "$SERVICE_OUTPUT_WEIGHTS"', 'The trainer wrote an empty file to the path named by SERVICE_OUTPUT_WEIGHTS.'],
  ['echo x > "$SERVICE_OUTPUT_WEIGHTS"', 'The trainer wrote no metrics to the file named by SERVICE_OUTPUT_METRICS.'],
  [`report '{"num_samples": NaN}'`, "The trainer's metrics are not JSON (NaN is not): "],
  ["report '[5]'", 'must be an object such as {"num_samples": 120}, got [5].'],
  [`report '{"loss": 1}'`, 'num_samples is undefined; it must be a whole number of at least 1.'],
  [`report '{"num_samples": 0}'`, 'num_samples is 0; it must be a whole number of at least 1.'],
  [`report '{"num_samples": 1, "loss": "low"}'`, 'loss is "low"; it must be a finite number, or absent.'],
  [`report '{"num_samples": 1, "accuracy": 75}'`, 'accuracy is 75; it must be a number from 0 to 1, or absent.'],
])('%s fails with its reason', async (body, reason) => {
  const trainer = await program(body)
  await expect(trainer.train(task())).rejects.toThrow(reason)
})

test('an earlier run that has not ended yet writes to other files', async () => {
  const paths: string[] = []
  const earlier = commandTrainer({
    command: `echo "$SERVICE_OUTPUT_WEIGHTS"; until [ $((n += 1)) = 30000 ]; do : > "$SERVICE_OUTPUT_WEIGHTS-$n"; done
      until [ -e late ]; do sleep 0.05; done; exit 1`,
    cwd: folder,
    onLine: (line) => paths.push(line),
  })
  const interrupted = expect(earlier.train(task())).rejects.toThrow('The trainer ended with exit code')
  await vi.waitFor(() => expect(paths).toHaveLength(1))
  const { weights } = await (await program(`report '{"num_samples": 1}'; : > late`)).train(task())
  await interrupted
  expect(await readFile(weights, 'utf8')).toBe('new')
  expect(dirname(paths[0]!)).not.toBe(dirname(weights))
  const next = await (await program(`report '{"num_samples": 1}'`)).train(task())
  expect((await readdir(folder)).sort()).toEqual(['late', basename(dirname(next.weights)), 'train.sh'])
})

/** A program that starts another one and never ends. Both print their process ids. */
const family = "sh -c 'echo $$; exec sleep 1000000' &\n echo $$; wait"

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const untilGone = async (pids: readonly number[]): Promise<void> => {
  while (pids.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('the end of the round ends the command', async () => {
  const pids: number[] = []
  const trainer = await program(family, (line) => pids.push(Number(line)))
  const run = trainer.train(task({ timeoutMs: 1500 }))
  await expect(run).rejects.toThrow(/^The trainer was stopped after \d+ s, because the round is about to end\./)
  await untilGone(pids)
})

test('aborting ends the command and its child processes with the reason of the abort', async () => {
  const stop = new AbortController()
  const pids: number[] = []
  const trainer = await program(family, (line) => {
    if (pids.push(Number(line)) === 2) stop.abort(new Error('shutting down'))
  })
  await expect(trainer.train(task({ signal: stop.signal }))).rejects.toThrow('shutting down')
  await untilGone(pids)
  expect(pids).toHaveLength(2)
})

test('an aborted command has time to end, although the shell that runs it ends at once', async () => {
  const stop = new AbortController()
  const trainer = await program(
    "trap 'sleep 0.3; echo saved > saved; exit' TERM; echo ready; sleep 1000000 & wait",
    () => stop.abort(new Error('shutting down')),
  )
  await expect(trainer.train(task({ signal: stop.signal }))).rejects.toThrow('shutting down')
  expect(await readFile(join(folder, 'saved'), 'utf8')).toBe('saved\n')
})

test('a process that a command leaves in the background does not delay the round', async () => {
  const trainer = await program(
    `sleep 1000000 &
    report '{ "num_samples": 1 }'`,
  )
  expect((await trainer.train(task())).report.numSamples).toBe(1)
})

test('a process that a command leaves in another session does not delay the round', async () => {
  const lines: string[] = []
  const trainer = await program(
    `"${process.execPath}" -e '
      const left = require("node:child_process").spawn("sleep", ["1000000"], { stdio: "inherit", detached: true })
      console.log(left.pid)
      left.unref()'
    report '{ "num_samples": 1 }'`,
    (line) => lines.push(line),
  )
  onTestFinished(() => lines.forEach((pid) => void process.kill(Number(pid), 'SIGKILL')))
  expect((await trainer.train(task())).report.numSamples).toBe(1)
  expect(lines.map(Number).map(isRunning)).toEqual([true])
})

test('only the last twenty lines of a command with much output are reported', async () => {
  const trainer = await program('for n in $(seq 100); do echo "line $n" >&2; done; exit 1')
  const error: unknown = await trainer.train(task()).catch((thrown: unknown) => thrown)
  const lines = (error as Error).message.split('\n').slice(1)
  expect(lines).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index + 81}`))
})

test('the data that SCAFFOLD and Ditto keep and send is in separate files, which may be missing', async () => {
  const control = join(folder, 'control')
  const memory = join(folder, 'earlier')
  await Promise.all([writeFile(control, 'c'), writeFile(memory, 'c_i')])
  const command =
    'cp "$SERVICE_CONTROL" "$SERVICE_OUTPUT_CONTROL"; cp "$SERVICE_MEMORY" "$SERVICE_OUTPUT_MEMORY"; ' +
    'echo w > "$SERVICE_OUTPUT_WEIGHTS"; echo \'{"num_samples": 1}\' > "$SERVICE_OUTPUT_METRICS"'
  const outcome = await commandTrainer({ command }).train(task({ control, memory }))
  expect(await readFile(outcome.control!, 'utf8')).toBe('c')
  expect(await readFile(outcome.memory!, 'utf8')).toBe('c_i')
  const plain = 'echo w > "$SERVICE_OUTPUT_WEIGHTS"; echo \'{"num_samples": 1}\' > "$SERVICE_OUTPUT_METRICS"'
  expect(Object.keys(await commandTrainer({ command: plain }).train(task()))).toEqual([
    'weights',
    'report',
    'globalModel',
  ])
})
