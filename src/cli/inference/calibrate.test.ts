import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { runInProcess } from '../in-process.fixture.ts'

// One block of the model instead of all of them: the answers agree on some prompts only.
const SMALL = 'test/fixtures/models/tiny-chat-first1-q8_0.gguf'

const start = async (lines: readonly unknown[]) => {
  const home = await emptyFolder()
  await writeFile(
    join(home, 'prompts.jsonl'),
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  const svc = (...argv: string[]) =>
    runInProcess(
      ['calibrate', '--prompts', join(home, 'prompts.jsonl'), '--threads', '1', '--max-tokens', '12', ...argv],
      {
        env: { SERVICE_HOME: home },
        now: () => new Date('2026-01-02T03:04:05Z'),
      },
    )
  return { home, svc }
}

const PROMPTS = [
  { input: 'What is the capital of France?', expected_output: 'The capital of France is Paris.' },
  { input: 'What is the capital of Norway?', expected_output: 'The capital of Norway is Oslo.' },
  { input: 'Repeat after me: river stone window' },
  {
    messages: [
      { role: 'system', content: 'Always be kind and brief.' },
      { role: 'user', content: 'Hello' },
    ],
  },
  { input: 'Explain why 3 + 4 = 7, step by step, and then write code for it.', expected_output: 'no model says this' },
]

it('tries the prompts on each model, reports quality and cost, and writes the limits', async () => {
  const { home, svc } = await start(PROMPTS)
  const ran = await svc('--models', `starter,${SMALL}`, '--json')
  expect([ran.exitCode, ran.stderr]).toEqual([0, 'tiny-chat-first1-q8_0: 5 prompts.\nstarter: 5 prompts.\n'])
  const { chosen, policies, path, ...rest } = JSON.parse(ran.stdout)
  expect(rest).toEqual({
    models: ['tiny-chat-first1-q8_0', 'starter'],
    prompts: 5,
    keep: 0.95,
    unseen: null,
    caveats: [
      'For 2 of 5 prompts, quality is the agreement with the replies of starter, so it cannot show where starter is wrong.',
      '5 prompts are too few: the intervals are wide and the limits uncertain. Use at least 30.',
    ],
  })
  expect(chosen.kept).toBeGreaterThanOrEqual(0.95)
  expect(policies.length).toBeGreaterThan(0)
  expect(path).toBe(join(home, 'routing.json'))
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
    scoring: 1,
    created_at: '2026-01-02T03:04:05.000Z',
    prompts: 5,
    tiers: [
      { model: 'tiny-chat-first1-q8_0', path: resolve(SMALL), up_to_score: chosen.limits[0] },
      { model: 'starter', path: resolve('models/starter.gguf'), up_to_score: 1 },
    ],
  })
})

it('counts a prompt that is too long for a model with the reply of the next one, as routing does', async () => {
  const long = { input: 'What is the capital of France? '.repeat(20) }
  const { home, svc } = await start([long, PROMPTS[0], { input: 'river '.repeat(5000) }])
  const file = await readFile(SMALL)
  const key = 'llama.context_length'
  file.writeUInt32LE(64, file.indexOf(key) + key.length + 4)
  const short = join(home, 'short.gguf')
  await writeFile(short, file)
  const ran = await svc('--models', `starter,${short}`, '--json')
  expect(ran.exitCode, ran.stderr).toBe(0)
  const { prompts, policies, caveats } = JSON.parse(ran.stdout)
  expect([prompts, ...caveats.slice(0, 2)]).toEqual([
    2,
    'Prompts that are too long for short count with the replies of the next model: 2 of 3.',
    'Prompts that are too long for starter are left out: 1 of 3.',
  ])
  expect(policies.at(-1).quality).toBe(1)
  expect(JSON.parse(await readFile(join(home, 'routing.json'), 'utf8')).prompts).toBe(2)
  const { svc: hopeless } = await start([{ input: 'river '.repeat(5000) }])
  const none = (await hopeless('--models', `starter,${short}`)).stderr
  expect(none).toContain('Every prompt is too long for starter.')
  expect(none).toContain('starter: 1 prompt.\n')
})

it('shows a table with the chosen limits marked, and says what it wrote', async () => {
  const { home, svc } = await start(PROMPTS.slice(0, 2))
  const ran = await svc('--models', `${SMALL},starter`, '--keep', '1')
  expect(ran.exitCode).toBe(0)
  const rows = ran.stdout.trimEnd().split('\n')
  expect(rows[0]).toMatch(/LIMITS +TINY-CHAT-FIRST1-Q8_0 \/ STARTER +QUALITY +95% +KEPT +MS +TIME VS ALONE +TOKENS$/)
  expect(rows.filter((row) => row.startsWith('*'))).toHaveLength(1)
  expect(ran.stderr).toContain('* the fastest that keeps 100% of the quality of starter alone (1.000).\n')
  expect(ran.stderr).toContain(`Written to ${join(home, 'routing.json')}, which svc serve --auto-route reads.\n`)
})

it('reports faulty lines, wrong models, and a missing file', async () => {
  const faults = [
    '{"input": 1}',
    '{',
    '[]',
    { messages: [{ role: 'tool', content: '' }] },
    { input: 'x', expected_output: 2 },
  ]
  const reported = []
  for (const fault of faults) {
    const { home, svc } = await start([{ input: 'Hello' }, '', fault])
    const { exitCode, stderr } = await svc('--models', 'starter,other')
    reported.push([exitCode, stderr.split('\n')[0]!.replace(home, '')])
  }
  expect(reported).toEqual(
    [
      'it has neither input (a string) nor messages',
      'it is not JSON',
      'it is not an object',
      'its messages are not a list of {role: system, user, or assistant; content: a string}',
      'expected_output is not a string',
    ].map((what) => [1, `svc: /prompts.jsonl, line 3: ${what}.`]),
  )
  const { svc } = await start([])
  expect([(await svc('--models', 'a,b')).exitCode, (await svc()).exitCode]).toEqual([1, 2])
  const { svc: requested } = await start([{ input: 'Hello' }])
  expect((await requested('--models', 'starter')).stderr).toMatch(/^svc: --models needs at least two models\.\n/)
  expect((await requested('--models', 'starter,b', '--reference', 'c')).exitCode).toBe(2)
  const missing = await runInProcess(['calibrate', '--models', 'a,b', '--prompts', '/nowhere.jsonl'])
  expect(missing.stderr).toBe('svc: Cannot use /nowhere.jsonl: it does not exist.\n')
  // Before any prompt, although the result is written at the end.
  const { home } = await start(PROMPTS)
  const unwritable = await runInProcess(
    ['calibrate', '--models', `${SMALL},starter`, '--prompts', join(home, 'prompts.jsonl')],
    { env: { SERVICE_HOME: '/proc/svc' } },
  )
  expect(unwritable.stderr).toBe('svc: Cannot use /proc/svc: the file system does not allow new files there.\n')
})
