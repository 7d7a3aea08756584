import { expect, test } from 'vitest'
import type { Dataset } from '../sdk/trainers/dataset.ts'
import { evaluate } from '../sdk/trainers/train.ts'
import { evaluateInSlices } from './built-in-trainer.ts'

test('evaluating a model in slices gives the same result as at once, and lets other work run in between', async () => {
  // So large that a slice holds 19 rows.
  const width = 500_000
  const count = 40
  const data: Dataset = {
    featureCount: width,
    features: Float64Array.from({ length: width * count }, (_, n) => (n % 7) - 3),
    labels: Uint32Array.from({ length: count }, (_, row) => row % 2),
  }
  const model = [
    {
      name: 'weight',
      shape: [2, width],
      data: Float64Array.from({ length: 2 * width }, (_, n) => ((n % 5) - 2) / width),
    },
    { name: 'bias', shape: [2], data: Float64Array.of(0.1, -0.1) },
  ]
  let beats = 0
  const heart = setInterval(() => beats++, 0)
  const seen = await evaluateInSlices(model, data)
  clearInterval(heart)
  const whole = evaluate(model, data)
  expect({ ...seen, loss: Number(seen.loss.toPrecision(10)) }).toEqual({
    ...whole,
    loss: Number(whole.loss.toPrecision(10)),
  })
  expect(beats).toBeGreaterThan(0)
})
