import { badRequest } from '../domain/errors.ts'
import { showName, showShape } from './shape.ts'
import type { DType, TensorPlaces } from './weight-file.ts'

/** What two files must share so that they can be averaged: names, element types, shapes. Order is of no meaning. */
export type Layout = readonly LayoutEntry[]

export interface LayoutEntry {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  /** A constant's checksum: no tensor, but the same in all files that have constants. */
  readonly constant?: string
  /** It is merged, not averaged. */
  readonly merged?: true
}

/** The tensors of a file, in its order. */
export const layoutOf = (file: Pick<TensorPlaces, 'tensors'>): Layout =>
  file.tensors.map(({ name, dtype, shape }) => ({ name, dtype, shape }))

const isMerged = ({ statistics = [] }: Pick<TensorPlaces, 'statistics'>, name: string): boolean =>
  statistics.some(({ tensors }) => Object.values(tensors).includes(name))

/** The layout of a file with its constants, which other files are compared with. */
export const fullLayoutOf = (file: Pick<TensorPlaces, 'tensors' | 'constants' | 'statistics'>): Layout => [
  ...layoutOf(file).map((entry) => (isMerged(file, entry.name) ? { ...entry, merged: true as const } : entry)),
  ...(file.constants ?? []).map(({ name, digest }) => ({ name, dtype: 'u8' as const, shape: [0], constant: digest })),
]

/** The tensor of a file that can hold only one. Throws bad_request for none and for several. */
export const onlyTensor = (layout: Layout, title: string): LayoutEntry => {
  const [only] = layout
  if (only === undefined || layout.length !== 1) throw badRequest(`${title} holds exactly one tensor.`)
  return only
}

/** The first difference between what is expected and what a file holds, as a sentence; null when there is none. */
export const firstDifference = (expected: Layout, actual: Layout): string | null => {
  const actualByName = new Map(actual.map((entry) => [entry.name, entry]))
  // Weights alone, such as an .npz for an .onnx, come without constants.
  const hasConstants = actual.some(({ constant }) => constant !== undefined)
  for (const { name, dtype, shape, constant } of expected) {
    const entry = actualByName.get(name)
    if (constant !== undefined) {
      if (!hasConstants || entry?.constant === constant) continue
      return `constant ${showName(name)} is ${entry?.constant === undefined ? 'missing' : 'different'}`
    }
    const expectedText = `${dtype} ${showShape(shape)}`
    if (entry === undefined) return `tensor ${showName(name)} (${expectedText}) is missing`
    if (entry.shape.length !== shape.length || entry.shape.some((size, axis) => size !== shape[axis]))
      return `tensor ${showName(name)} has shape ${showShape(entry.shape)}, expected ${showShape(shape)}`
    if (entry.dtype !== dtype) return `tensor ${showName(name)} has type ${entry.dtype}, expected ${dtype}`
  }
  const names = new Set(expected.map(({ name }) => name))
  const withConstants = expected.some(({ constant }) => constant !== undefined)
  const extra = actual.find(({ name, constant }) => !names.has(name) && (constant === undefined || withConstants))
  return extra === undefined
    ? null
    : extra.constant !== undefined
      ? `constant ${showName(extra.name)} is not part of it`
      : `tensor ${showName(extra.name)} (${extra.dtype} ${showShape(extra.shape)}) is not part of it`
}

/**
 * `label` starts the message: "The update"; `model` is what it is compared with. Throws bad_request naming the first difference
 * and both sides' values.
 */
export const requireSameLayout = (
  expected: Layout,
  file: Pick<TensorPlaces, 'tensors' | 'constants'>,
  label: string,
  model = 'the model of the round',
): void => {
  const difference = firstDifference(expected, fullLayoutOf(file))
  if (difference !== null)
    throw badRequest(`${label} does not match ${model}: ${difference}. Send weights of the same model.`)
}
