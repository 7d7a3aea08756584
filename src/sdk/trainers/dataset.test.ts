import { expect, test } from 'vitest'
import { type Dataset, splitDataset } from './dataset.ts'

const rows = (count: number): Dataset => ({
  featureCount: 2,
  features: Float64Array.from({ length: count * 2 }, (_, index) => index),
  labels: Uint32Array.from({ length: count }, (_, index) => index),
})

const sizes = (count: number, fraction: number): number[] => {
  const { train, heldOut } = splitDataset(rows(count), fraction, 5)
  return [train.labels.length, heldOut.labels.length]
}

test('every row is on one side, with its own features', () => {
  const { train, heldOut } = splitDataset(rows(20), 0.25, 5)
  expect([...train.labels, ...heldOut.labels].sort((a, b) => a - b)).toEqual([...rows(20).labels])
  for (const side of [train, heldOut]) {
    expect([...side.features]).toEqual([...side.labels].flatMap((label) => [label * 2, label * 2 + 1]))
  }
})

test('the fraction is rounded down, but at least one row is held out if possible', () => {
  expect([sizes(20, 0.25), sizes(9, 0.1), sizes(19, 0.1), sizes(1, 0.5), sizes(0, 0.5), sizes(5, 0)]).toEqual([
    [15, 5],
    [8, 1],
    [18, 1],
    [1, 0],
    [0, 0],
    [5, 0],
  ])
})

test('the same seed holds out the same rows, another seed holds out others', () => {
  const held = (seed: number): Uint32Array => splitDataset(rows(100), 0.1, seed).heldOut.labels
  expect(held(1)).toEqual(held(1))
  expect(held(1)).not.toEqual(held(2))
})

test.each([-0.1, 1, Number.NaN])('a fraction of %s is refused', (fraction) => {
  expect(() => splitDataset(rows(3), fraction, 1)).toThrow(
    `The held-out fraction must be at least 0 and below 1, got ${fraction}.`,
  )
})
