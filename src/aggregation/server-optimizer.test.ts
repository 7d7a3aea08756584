import { existsSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StrategyName } from '../domain/strategy-rules.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { FIXTURES, jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const fixture = JSON.parse(readFileSync(`${FIXTURES}strategies.json`, 'utf8')) as {
  readonly w0: number[]
  readonly client_weights: number[][]
  readonly num_samples: number[]
  readonly 'fedadam_paper_eta0.1': number[][]
}

/** Plays the rounds of a job, each from the previous model and state. Returns the model after every round. */
const play = async (
  name: StrategyName,
  options: Record<string, number | string>,
  start: readonly number[],
  rounds: readonly { readonly weights: readonly number[]; readonly samples: number }[][],
): Promise<number[][]> => {
  const models: number[][] = []
  let globalPath = files.safetensors('start', [tensor('w', 'f64', start), tensor('steps', 'i64', [7])])
  let statePath: string | null = null
  for (const [round, updates] of rounds.entries()) {
    const outputPath = files.path(`out${round}`)
    const stateOutputPath = files.path(`state${round}`)
    const { state } = await aggregateFiles(
      jobOf({
        strategy: strategySettings(name, options),
        globalPath,
        statePath,
        stateOutputPath,
        updates: updates.map(({ weights, samples }, k) => ({
          id: `d${k}`,
          path: files.safetensors(`u${k}`, [tensor('w', 'f64', weights), tensor('steps', 'i64', [k])]),
          numSamples: samples,
        })),
        outputPath,
      }),
    )
    expect(state).toEqual({ written: true })
    globalPath = outputPath
    statePath = stateOutputPath
    models.push(valuesIn(outputPath).w!.map(Number))
  }
  return models
}

const expectNear = (actual: readonly number[][], expected: readonly number[][]): void => {
  expect(actual.map((model) => model.length)).toEqual(expected.map((model) => model.length))
  actual.forEach((model, round) => {
    model.forEach((value, i) => void expect(Math.abs(value - expected[round]![i]!)).toBeLessThan(1e-9))
  })
}

/** Three rounds of two devices around a moving target; some coordinates shrink, so that Yogi's sign matters. */
const start = [1, -2, 0.5]
const rounds = [
  [
    { weights: [2, -1, 0.5], samples: 1 },
    { weights: [4, -1.5, 0.25], samples: 3 },
  ],
  [
    { weights: [2.5, -1.9, 0.375], samples: 2 },
    { weights: [0.5, -1.5, 0.5], samples: 2 },
  ],
  [
    { weights: [1.001, -1.999, 0.4], samples: 5 },
    { weights: [1, -2, 0.6], samples: 1 },
  ],
]

/** The papers' formulas, one coordinate at a time. `step` gets m, v, and the change and returns what to add. */
const byHand = (
  initial: number,
  step: (state: { m: number; v: number }, change: number, round: number) => number,
): number[][] => {
  const states = start.map(() => ({ m: 0, v: initial }))
  let model = [...start]
  return rounds.map((updates, round) => {
    const total = updates.reduce((sum, { samples }) => sum + samples, 0)
    model = model.map((w, i) => {
      const mean = updates.reduce((sum, { weights, samples }) => sum + samples * weights[i]!, 0) / total
      return w + step(states[i]!, mean - w, round)
    })
    return model
  })
}

const [eta, b1, b2, tau] = [0.3, 0.8, 0.95, 0.01]
const rates = { server_learning_rate: eta, beta1: b1, beta2: b2, tau }

const adaptiveStep =
  (follow: (v: number, square: number) => number) =>
  (state: { m: number; v: number }, change: number): number => {
    state.m = b1 * state.m + (1 - b1) * change
    state.v = follow(state.v, change ** 2)
    return (eta * state.m) / (Math.sqrt(state.v) + tau)
  }

const adamFollows = (v: number, square: number): number => b2 * v + (1 - b2) * square

describe('optimizers on the server', () => {
  it('match independently computed FedAdam results of the paper over three rounds', async () => {
    const updates = [0, 1, 2, 3].map((k) => ({
      weights: fixture.client_weights[k]!,
      samples: fixture.num_samples[k]!,
    }))
    for (const [name, options] of [
      ['fedadam', { server_learning_rate: 0.1 }],
      ['fedopt', { variant: 'adam', server_learning_rate: 0.1 }],
    ] as const)
      expectNear(await play(name, options, fixture.w0, [updates, updates, updates]), fixture['fedadam_paper_eta0.1'])
  })

  it.each<[string, StrategyName, Record<string, number | string>, number[][]]>([
    [
      'FedAvgM',
      'fedopt',
      { ...rates, variant: 'momentum' },
      byHand(0, (state, change) => {
        state.m = b1 * state.m + change
        return eta * state.m
      }),
    ],
    [
      'FedAdagrad',
      'fedopt',
      { ...rates, variant: 'adagrad' },
      byHand(
        tau ** 2,
        adaptiveStep((v, square) => v + square),
      ),
    ],
    [
      'FedYogi',
      'fedopt',
      { ...rates, variant: 'yogi' },
      byHand(
        tau ** 2,
        adaptiveStep((v, square) => v - (1 - b2) * square * Math.sign(v - square)),
      ),
    ],
    ['FedAdam', 'fedopt', { ...rates, variant: 'adam' }, byHand(tau ** 2, adaptiveStep(adamFollows))],
    [
      "FedAdam of the paper's form",
      'fedadam',
      { ...rates, form: 'paper' },
      byHand(tau ** 2, adaptiveStep(adamFollows)),
    ],
    [
      "FedAdam of Flower's form",
      'fedadam',
      { ...rates, form: 'flower' },
      byHand(0, (state, change, round) => {
        // Flower counts rounds from 1; the exponent is that number plus one.
        const exponent = round + 2
        return (adaptiveStep(adamFollows)(state, change) * Math.sqrt(1 - b2 ** exponent)) / (1 - b1 ** exponent)
      }),
    ],
  ])('match the formula of %s over three rounds', async (_, name, options, expected) => {
    expectNear(await play(name, options, start, rounds), expected)
  })

  it('apply the weighted mean to integer tensors', async () => {
    await play('fedopt', {}, start, rounds)
    // 0.5 is a tie and is rounded to even.
    expect(valuesIn(files.path('out1')).steps).toEqual([0n])
  })

  it('are refused without a model to measure changes from', async () => {
    const updates = [{ id: 'a', path: files.raw('a', [1]), rawVector: true, numSamples: 1 }]
    await expect(
      aggregateFiles(jobOf({ strategy: strategySettings('fedopt'), updates, outputPath: files.path('out') })),
    ).rejects.toMatchObject({
      code: 'conflict',
      message:
        "Strategy 'fedopt' measures changes from the model that the round distributes, and this round has none that " +
        'can be read. Start it with a model.',
    })
  })

  it("are refused if a step exceeds the range of the model's type", async () => {
    const model = (name: string, value: number): string => files.torch(name, [tensor('w', 'f16', [value])])
    const job = jobOf({
      strategy: strategySettings('fedopt', { variant: 'momentum', server_learning_rate: 1000 }),
      globalPath: model('g', 0),
      updates: [{ id: 'a', path: model('a', 100), numSamples: 1 }],
      outputPath: files.path('out'),
    })
    await expect(aggregateFiles(job)).rejects.toMatchObject({
      code: 'conflict',
      message:
        'The new values of tensor "w" exceed the range of its type, f16. ' +
        'Nothing was aggregated: lower the server learning rate or the noise.',
    })
  })

  it.each([
    ['fedopt', { variant: 'yogi' }],
    ['fedopt', { variant: 'adagrad' }],
    ['fedadam', {}],
  ] as const)('are refused if a squared change exceeds the range of %s %j, without output', async (name, options) => {
    const updates = { a: [1, 2], b: [1e200, 3] }
    const job = jobOf({
      strategy: strategySettings(name, options),
      globalPath: files.safetensors('g', [tensor('w', 'f64', [0, 0])]),
      stateOutputPath: files.path('state'),
      updates: Object.entries(updates).map(([id, values]) => ({
        id,
        path: files.safetensors(id, [tensor('w', 'f64', values)]),
        numSamples: 1,
      })),
      outputPath: files.path('out'),
    })
    await expect(aggregateFiles(job)).rejects.toMatchObject({
      code: 'conflict',
      message:
        'The state that the strategy keeps for tensor "w" between rounds exceeds the range of 64-bit floats. Nothing was aggregated. ' +
        "The largest value is element 0 of the update of device 'b'; its training diverged.",
    })
    expect(existsSync(files.path('state'))).toBe(false)
  })

  it('are refused if the stored state contains infinity', async () => {
    await play('fedadam', {}, start, rounds.slice(0, 1))
    const state = readFileSync(files.path('state0'))
    state.writeDoubleLE(Number.POSITIVE_INFINITY, state.length - 8 * start.length)
    const model = files.path('out0')
    const job = jobOf({
      strategy: strategySettings('fedadam'),
      globalPath: model,
      statePath: files.write('broken', state),
      updates: [{ id: 'a', path: model, numSamples: 1 }],
      outputPath: files.path('out'),
    })
    await expect(aggregateFiles(job)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /has contained NaN or infinity since an earlier round.* start another job from the last result/,
      ),
    })
  })

  it('are refused with the state of another model', async () => {
    await play('fedopt', {}, start, rounds.slice(0, 1))
    const globalPath = files.safetensors('other', [tensor('w', 'f64', [1])])
    const job = jobOf({
      strategy: strategySettings('fedopt'),
      globalPath,
      statePath: files.path('state0'),
      updates: [{ id: 'a', path: globalPath, numSamples: 1 }],
      outputPath: files.path('out'),
    })
    await expect(aggregateFiles(job)).rejects.toMatchObject({
      code: 'conflict',
      message:
        "The strategy's state has 72 bytes, but this model and strategy need 24. The model or strategy was changed " +
        'during the job: start a new job.',
    })
  })
})
