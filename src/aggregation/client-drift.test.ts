import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StrategyName } from '../domain/strategy-rules.ts'
import { strategySettings } from '../domain/strategy-settings.ts'
import { aggregateFiles } from './aggregate-files.ts'
import { jobOf, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

// Two devices with f1 = mu x^2 + G x and f2 = -G x, whose sum is minimal at 0, take K gradient steps of size eta per round.
const [mu, eta] = [1, 0.1]

const gradients = (drift: number): readonly ((x: number) => number)[] => [(x) => 2 * mu * x + drift, () => -drift]

/** Where federated averaging converges, derived by hand. */
const restingPoint = (drift: number, steps: number): number =>
  drift * ((steps * eta) / (1 - (1 - 2 * mu * eta) ** steps) - 1 / (2 * mu))

/** Trains for some rounds with files like those of devices. Returns x after the last round. */
const train = async (
  name: StrategyName,
  rounds: number,
  local: (x: number, k: number, control: number) => { readonly result: number; readonly controlChange: number },
  start: number,
): Promise<number> => {
  const scalar = (file: string, value: number): string => files.safetensors(file, [tensor('x', 'f64', [value])])
  let globalPath = scalar('start', start)
  let statePath: string | null = null
  let control = 0
  for (let round = 0; round < rounds; round++) {
    const x = Number(valuesIn(globalPath).x![0])
    const [outputPath, stateOutputPath, controlOutputPath] = ['x', 'state', 'control'].map((part) =>
      files.path(`${part}${round}`),
    ) as [string, string, string]
    const updates = [0, 1].map((k) => {
      const { result, controlChange } = local(x, k, control)
      return {
        id: `d${k}`,
        path: scalar(`u${k}`, result),
        controlPath: scalar(`c${k}`, controlChange),
        numSamples: 10 + 90 * k * (name === 'scaffold' ? 1 : 0),
      }
    })
    const strategy = strategySettings(name)
    const paths = { globalPath, statePath, stateOutputPath, controlOutputPath, outputPath }
    const result = await aggregateFiles(jobOf({ strategy, updates, ...paths, population: 2 }))
    if (result.control.written) control = Number(valuesIn(controlOutputPath).x![0])
    statePath = result.state.written ? stateOutputPath : null
    globalPath = outputPath
  }
  return Number(valuesIn(globalPath).x![0])
}

const descend = (x: number, steps: number, gradient: (x: number) => number): number => {
  let y = x
  for (let step = 0; step < steps; step++) y -= eta * gradient(y)
  return y
}

describe('two devices that drift apart', () => {
  it.each([
    [1, 2, 0.0555555556, 120],
    [10, 10, 6.202902496, 45],
  ])('pull federated averaging with G = %d and K = %d to %d', async (drift, steps, published, rounds) => {
    const local = (x: number, k: number) => ({ result: descend(x, steps, gradients(drift)[k]!), controlChange: 0 })
    const x = await train('fedavg', rounds, local, 3)
    expect(Math.abs(restingPoint(drift, steps) - published)).toBeLessThan(1e-9)
    expect(Math.abs(x - restingPoint(drift, steps))).toBeLessThan(1e-9)
  })

  it.each([1, 10, 100])('are led to the optimum by SCAFFOLD for any G: %d', async (drift) => {
    const steps = 10
    const own = [0, 0]
    // A device's part of Karimireddy et al. 2020, algorithm 1 with option II.
    const local = (x: number, k: number, control: number) => {
      const before = own[k]!
      const result = descend(x, steps, (y) => gradients(drift)[k]!(y) - before + control)
      own[k] = before - control + (x - result) / (steps * eta)
      return { result, controlChange: own[k]! - before }
    }
    expect(Math.abs(await train('scaffold', 50, local, 100))).toBeLessThan(1e-9)
  })

  it('are held to (a c + mu w) / (a + mu) by the proximal term', async () => {
    // F = (a / 2) (w - c)^2, fully minimized by each device; with equal samples, the server takes the mean.
    const [a, prox, centres, w] = [3, 0.5, [1, 5], 2]
    const local = (x: number, k: number) => {
      let y = x
      for (let step = 0; step < 400; step++) y -= 0.1 * (a * (y - centres[k]!) + prox * (y - x))
      return { result: y, controlChange: 0 }
    }
    const expected = centres.reduce((sum, c) => sum + (a * c + prox * w) / (a + prox), 0) / 2
    expect(Math.abs((await train('fedprox', 1, local, w)) - expected)).toBeLessThan(1e-9)
  })
})

describe('the global control variate', () => {
  const scalar = (file: string, value: number): string => files.safetensors(file, [tensor('x', 'f32', [value])])
  const updates = () =>
    [1, 2].map((k) => ({ id: `d${k}`, path: scalar(`u${k}`, k), controlPath: scalar(`c${k}`, k / 4), numSamples: 1 }))

  it('moves by |S| / N times the mean change and is written to a file for the devices', async () => {
    const job = jobOf({
      strategy: strategySettings('scaffold'),
      globalPath: scalar('g', 0),
      updates: updates(),
      population: 8,
      stateOutputPath: files.path('state'),
      controlOutputPath: files.path('control'),
      outputPath: files.path('out'),
    })
    await aggregateFiles(job)
    expect(valuesIn(files.path('control'))).toEqual({ x: [0.75 / 8] })
    const next = { ...job, statePath: files.path('state'), stateOutputPath: files.path('state2') }
    await aggregateFiles(next)
    expect(valuesIn(files.path('control'))).toEqual({ x: [(2 * 0.75) / 8] })
  })

  it('is refused if a device sends none or one with another layout', async () => {
    const [first, second] = updates()
    const job = (control: string | undefined) =>
      jobOf({
        strategy: strategySettings('scaffold'),
        globalPath: scalar('g', 0),
        updates: [first!, { id: 'd2', path: second!.path, numSamples: 1, ...(control && { controlPath: control }) }],
        outputPath: files.path('out'),
      })
    await expect(aggregateFiles(job(undefined))).rejects.toMatchObject({
      code: 'conflict',
      message:
        "The update of device 'd2' does not include the change of its control variate, which the strategy needs. " +
        'Send it as the file field `control`.',
    })
    const other = files.safetensors('other', [tensor('x', 'f32', [1, 2])])
    await expect(aggregateFiles(job(other))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The control variate of device 'd2' cannot be combined with the others\./),
    })
  })
})
