import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isTreeStrategy, STRATEGY_NAMES, type StrategyName } from '../domain/strategy-rules.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import type { AggregationJob } from './aggregation-messages.ts'
import { randomNumbers } from './kernel-oracle.fixture.ts'
import { FIXTURES, jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

const OF_TENSORS = STRATEGY_NAMES.filter((name) => !isTreeStrategy(name))

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

/** Five clients, the fifth Byzantine; expected values computed independently from the papers' formulas. */
const fixture = JSON.parse(readFileSync(`${FIXTURES}strategies.json`, 'utf8')) as {
  readonly w0: number[]
  readonly client_weights: number[][]
  readonly num_samples: number[]
  readonly fedavg: number[]
  readonly median: number[]
  readonly 'trimmed_beta0.2': number[]
  readonly krum_f1: { readonly selected: number[]; readonly result: number[] }
}

const zeros = [0, 0, 0, 0]

const fiveClients = (extra: Partial<AggregationJob> = {}): AggregationJob =>
  jobOf({
    globalPath: files.safetensors('global', [tensor('w', 'f64', fixture.w0)]),
    updates: fixture.client_weights.map((values, k) => ({
      id: `client-${k + 1}`,
      path: files.safetensors(`u${k}`, [tensor('w', 'f64', values)]),
      controlPath: files.safetensors(`c${k}`, [tensor('w', 'f64', zeros)]),
      numSamples: fixture.num_samples[k]!,
    })),
    outputPath: files.path('out'),
    ...extra,
  })

const expectNear = (actual: readonly (number | bigint)[] | undefined, expected: readonly number[]): void => {
  expect(actual).toHaveLength(expected.length)
  expected.forEach((value, i) => void expect(Math.abs(Number(actual![i]) - value)).toBeLessThan(1e-9))
}

const total = 150
const deltaOf = (weights: readonly number[]): number[] =>
  fixture.w0.map((w, i) => weights.reduce((sum, p, k) => sum + p * (fixture.client_weights[k]![i]! - w), 0))
const moved = (eta: number, delta: readonly number[]): number[] => fixture.w0.map((w, i) => w + eta * delta[i]!)
const equal = [0.2, 0.2, 0.2, 0.2, 0.2]
const bySamples = fixture.num_samples.map((n) => n / total)
const mean = (values: readonly number[][]): number[] =>
  fixture.w0.map((_, i) => values.reduce((sum, each) => sum + each[i]!, 0) / values.length)

describe('five clients, one of them Byzantine', () => {
  it.each<[StrategyName, Record<string, number | string>, readonly number[]]>([
    ['fedavg', {}, fixture.fedavg],
    ['fedprox', {}, fixture.fedavg],
    ['ditto', {}, fixture.fedavg],
    ['fedmedian', {}, fixture.median],
    ['fedtrimmedavg', {}, fixture['trimmed_beta0.2']],
    ['krum', {}, fixture.krum_f1.result],
    ['multikrum', {}, mean(fixture.client_weights.slice(0, 4))],
    ['multikrum', { keep: 3 }, mean([0, 1, 3].map((k) => fixture.client_weights[k]!))],
    ['krum', { keep: 3 }, mean([0, 1, 3].map((k) => fixture.client_weights[k]!))],
    ['fedopt', { variant: 'momentum' }, fixture.fedavg],
    ['scaffold', {}, mean(fixture.client_weights)],
    ['scaffold', { server_learning_rate: 0.5 }, moved(0.5, deltaOf(equal))],
    ['fedbuff', {}, mean(fixture.client_weights)],
    ['fedbuff', { server_learning_rate: 0.5 }, moved(0.5, deltaOf(equal))],
  ])('match the formula of %s %j within 1e-9', async (name, options, expected) => {
    await aggregateFiles(fiveClients({ strategy: strategySettings(name, options) }))
    expectNear(valuesIn(files.path('out')).w, expected)
  })

  it.each<[StrategyName, readonly number[]]>([
    ['fedavg', bySamples],
    ['fedmedian', equal],
    ['krum', [0, 0, 0, 1, 0]],
    ['multikrum', [0.25, 0.25, 0.25, 0.25, 0]],
    ['scaffold', equal],
    ['fedopt', bySamples],
  ])('have in %s the weights %j', async (name, expected) => {
    const { weights } = await aggregateFiles(fiveClients({ strategy: strategySettings(name) }))
    expect(weights).toEqual(expected.map((weight, k) => ({ id: `client-${k + 1}`, weight })))
  })
})

describe('every strategy', () => {
  const next = randomNumbers(7)
  const random = (count: number, scale = 1): number[] => Array.from({ length: count }, () => (next() - 0.5) * scale)

  /** Nine devices with a model of every kind of tensor, written to different containers. */
  const mixedRound = (name: StrategyName): AggregationJob => {
    const model = (scale: number) => [
      tensor('single', 'f32', random(301, scale)),
      tensor('double', 'f64', random(33, scale)),
      tensor('half', 'f16', random(21, scale), [7, 3]),
      tensor('brain', 'bf16', random(5, scale)),
      tensor('steps', 'i64', [Math.floor(next() * 1000)]),
      tensor('mask', 'bool', [next() > 0.5 ? 1 : 0, 1]),
    ]
    const write = (file: string, scale = 1): string => files.safetensors(`${name}-${file}`, model(scale))
    return jobOf({
      strategy: strategySettings(name, name === 'krum' ? { byzantine: 3 } : {}),
      globalPath: write('global'),
      updates: Array.from({ length: 9 }, (_, k) => ({
        id: `d${k}`,
        path: write(`u${k}`, 2),
        controlPath: write(`c${k}`, 0.1),
        basePath: write(`b${k}`),
        staleness: k % 3,
        numSamples: 10 + k,
      })),
      stateOutputPath: files.path('state'),
      controlOutputPath: files.path('control'),
      population: 50,
      outputPath: files.path('out'),
    })
  }

  it.each(OF_TENSORS)('produces the same bytes, including state, for any order of arrival: %s', async (name) => {
    const job = mixedRound(name)
    const run = async (updates: AggregationJob['updates']) => {
      const { state, control, weights } = await aggregateFiles({ ...job, updates })
      const bytes = (written: boolean, path: string) => (written ? readFileSync(files.path(path)) : null)
      return {
        weights,
        out: readFileSync(files.path('out')),
        state: bytes(state.written, 'state'),
        control: bytes(control.written, 'control'),
      }
    }
    const inOrder = await run(job.updates)
    const { updates } = job
    expect(await run([...updates].reverse())).toEqual(inOrder)
    expect(await run([4, 7, 0, 8, 2, 6, 1, 3, 5].map((k) => updates[k]!))).toEqual(inOrder)
    expect({ state: inOrder.state !== null, control: inOrder.control !== null }).toEqual({
      state: ['scaffold', 'fedopt', 'fedadam'].includes(name),
      control: name === 'scaffold',
    })
  })

  it.each(OF_TENSORS)('refuses NaN, naming the device, and leaves nothing behind: %s', async (name) => {
    const job = mixedRound(name)
    const bad = files.safetensors('bad', [
      ...[tensor('single', 'f32', random(301)), tensor('double', 'f64', random(33))],
      ...[tensor('half', 'f16', [...random(20), Number.NaN], [7, 3]), tensor('brain', 'bf16', random(5))],
      ...[tensor('steps', 'i64', [1]), tensor('mask', 'bool', [1, 1])],
    ])
    const updates = job.updates.map((update) => (update.id === 'd6' ? { ...update, path: bad } : update))
    await expect(aggregateFiles({ ...job, updates })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(
        'The update of device \'d6\' contains NaN or infinity in tensor "half" at element 20.',
      ),
    })
    for (const path of ['out', 'state', 'control']) expect(() => readFileSync(files.path(path))).toThrow('ENOENT')
  })

  it.each(OF_TENSORS)('reads and writes .pt and .npz: %s', async (name) => {
    const model = (k: number) => [tensor('w', 'f32', [k, -k, 0.5, 1], [2, 2]), tensor('b', 'f16', [k / 8])]
    const job = jobOf({
      strategy: strategySettings(name, name === 'multikrum' ? { keep: 3 } : {}),
      globalPath: files.torch('global', model(3)),
      // The updates are symmetric around the global model, so that every rule returns it.
      updates: [0, 2.5, 3, 3.5, 6].map((value, k) => ({
        id: `d${k}`,
        path: files[k % 2 === 0 ? 'torch' : 'npz'](`u${k}`, model(value)),
        controlPath: files.npz(`c${k}`, [tensor('w', 'f32', zeros, [2, 2]), tensor('b', 'f16', [0])]),
        numSamples: 1,
      })),
      outputPath: files.path('out'),
    })
    expect(await aggregateFiles(job)).toMatchObject({ format: 'torch-zip', tensors: 2, elements: 5 })
    expect(valuesIn(files.path('out'))).toEqual({ w: [3, -3, 0.5, 1], b: [0.375] })
  })
})
