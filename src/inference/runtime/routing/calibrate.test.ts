import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { agreement } from './agreement.ts'
import { choose, crossValidated, evaluate, intervalOf, policies, type Trial, worthwhile } from './calibrate.ts'
import { readCalibration, routingPath, writeCalibration } from './routing-file.ts'

it('answers are compared by words, and JSON by value', () => {
  expect([
    agreement('The capital is Paris.', 'the capital is PARIS'),
    agreement('Paris', 'The capital is Paris'),
    agreement('London', 'Paris'),
    agreement('', ''),
    agreement('', 'Paris'),
    agreement('no no no', 'no'),
    agreement('{"a": 1, "b": [2]}', '{"b":[2],"a":1}'),
    agreement('{"a": 1}', '{"a": 2}'),
    agreement('{"a": 1', '{"a": 1}'),
  ]).toEqual([1, 0.4, 0, 1, 0, 0.5, 1, 0, 1])
  // Texts without letters and digits, and vowel signs.
  expect([
    agreement('👍', '👎'),
    agreement('✓', '✓'),
    agreement('≥', '≤'),
    agreement('❤️', '☀️'),
    agreement('👍', 'Yes'),
    agreement('की', 'का'),
    agreement('Pâris', 'Pa\u0302ris'),
  ]).toEqual([0, 1, 0, 0, 0, 0, 1])
})

it("intervals are Wilson's: wide for few values, and not a single point for ten of ten", () => {
  const rounded = (values: readonly number[]) => intervalOf(values).map((end) => Number(end.toFixed(4)))
  // Newcombe 1998, table I: 81 of 263 -> 0.2553 to 0.3662; 0 of 20 -> 0 to 0.1611.
  expect(rounded([...Array(81).fill(1), ...Array(182).fill(0)])).toEqual([0.2553, 0.3662])
  expect(rounded(Array(20).fill(0))).toEqual([0, 0.1611])
  expect(rounded(Array(10).fill(1))).toEqual([0.7225, 1])
})

/** The small model is right up to a score of 0.3, the middle one up to 0.6, the big one always; each takes 10x as long. */
const trialAt = (score: number): Trial => ({
  score,
  outcomes: [
    { quality: score <= 0.3 ? 1 : 0, milliseconds: 10, tokens: 5 },
    { quality: score <= 0.6 ? 1 : 0, milliseconds: 100, tokens: 6 },
    { quality: 1, milliseconds: 1000, tokens: 7 },
  ],
})
const TRIALS = Array.from({ length: 10 }, (_, index) => trialAt(index / 10))

it('limits are evaluated by replaying the trials', () => {
  expect(evaluate(TRIALS, [0.3, 0.6])).toEqual({
    limits: [0.3, 0.6],
    shares: [0.4, 0.3, 0.3],
    quality: 1,
    interval: intervalOf(Array(10).fill(1)),
    kept: 1,
    milliseconds: 334,
    tokens: 5.9,
  })
  expect(evaluate(TRIALS, [-1, -1])).toMatchObject({ shares: [0, 0, 1], kept: 1, milliseconds: 1000 })
})

it('the fastest policy that keeps enough quality is chosen, and the biggest model alone if no other does', () => {
  const all = policies(TRIALS)
  expect(all[0]!.limits).toEqual([-1, -1])
  expect(choose(all, 1).limits).toEqual([0.3, 0.6])
  expect(choose(all, 0.9)).toMatchObject({ limits: [0.3, 0.7], kept: 0.9 })
  const useless = TRIALS.map((trial) => ({
    ...trial,
    outcomes: [{ ...trial.outcomes[0]!, quality: 0 }, trial.outcomes[2]!],
  }))
  expect(choose(policies(useless), 0.95).limits).toEqual([-1])
})

it('only undominated policies are shown, each slower and better than the one before', () => {
  const shown = worthwhile(policies(TRIALS))
  for (const [index, policy] of shown.slice(1).entries()) {
    expect(policy.quality).toBeGreaterThan(shown[index]!.quality)
    expect(policy.milliseconds).toBeGreaterThan(shown[index]!.milliseconds)
  }
  expect(shown[0]).toMatchObject({ shares: [1, 0, 0], quality: 0.4 })
  expect(shown.at(-1)!.limits).toEqual([0.3, 0.6])
})

it('the choice is judged on prompts left out, which costs quality if the sample is small', () => {
  expect(crossValidated(TRIALS.slice(0, 9), 1)).toBeNull()
  expect(crossValidated(TRIALS, 1)).toEqual({ quality: 1, kept: 1 })
  const many = Array.from({ length: 300 }, (_, index) => trialAt((index * 7) / 3000))
  expect(crossValidated(many, 1)!.kept).toBeGreaterThan(0.97)
  // Right in four of five cases by chance, regardless of the score: any limit in the sample is an artifact.
  let state = 1
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const noise = Array.from({ length: 40 }, (_, index): Trial => {
    const { score, outcomes } = trialAt(index / 40)
    return { score, outcomes: [{ ...outcomes[0]!, quality: random() < 0.8 ? 1 : 0 }, outcomes[2]!] }
  })
  expect([choose(policies(noise), 0.9).kept, crossValidated(noise, 0.9)!.kept]).toEqual([0.9, 0.875])
})

it('the file is read as it was written, and the error about a damaged one names the place', async () => {
  const home = await mkdtemp(join(tmpdir(), 'routing-'))
  onTestFinished(() => rm(home, { recursive: true }))
  expect(await readCalibration(home)).toBeNull()
  const calibration = {
    prompts: 40,
    tiers: [
      { model: 'a', upToScore: 0.25 },
      { model: 'b', path: '/models/b.gguf', upToScore: 1 },
    ],
  }
  expect(await writeCalibration(home, calibration, new Date('2026-01-02T03:04:05Z'))).toBe(routingPath(home))
  expect(await readCalibration(home)).toEqual(calibration)
  expect(await readdir(home)).toEqual(['routing.json'])
  const written = JSON.parse(await readFile(routingPath(home), 'utf8'))
  const readAs = async (text: string) => {
    await writeFile(routingPath(home), text)
    return readCalibration(home).catch((error: Error) => error.message.split(': ')[1])
  }
  expect([
    await readAs('{'),
    await readAs('null'),
    await readAs(JSON.stringify({ ...written, scoring: 0 })),
    await readAs(JSON.stringify({ ...written, tiers: [{ model: 'a' }] })),
    await readAs(JSON.stringify({ ...written, prompts: 'many' })),
  ]).toEqual([
    'it is not JSON. Remove it, or write it again with',
    'it is not an object. Remove it, or write it again with',
    null,
    'tiers[0] is not {model, up_to_score}. Remove it, or write it again with',
    'prompts or tiers are missing. Remove it, or write it again with',
  ])
})
