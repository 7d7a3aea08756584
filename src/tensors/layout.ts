import { badRequest } from '../domain/errors.ts'
import { showName, showShape } from './shape.ts'
import type { DType, TensorPlaces } from './weight-file.ts'

/** What files must have in common to be averaged: names, element types, and shapes. Order is ignored. */
export type Layout = readonly LayoutEntry[]

export interface LayoutEntry {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  /** A constant's checksum. The entry is not a tensor; files that have constants must agree on it. */
  readonly constant?: string
  /** Merged, not averaged. */
  readonly merged?: true
}

/** The tensors of a file, in file order. */
export const layoutOf = (file: Pick<TensorPlaces, 'tensors'>): Layout =>
  file.tensors.map(({ name, dtype, shape }) => ({ name, dtype, shape }))

const isMerged = ({ statistics = [] }: Pick<TensorPlaces, 'statistics'>, name: string): boolean =>
  statistics.some(({ tensors }) => Object.values(tensors).includes(name))

/** The layout including constants, for comparing files. */
export const fullLayoutOf = (file: Pick<TensorPlaces, 'tensors' | 'constants' | 'statistics'>): Layout => [
  ...layoutOf(file).map((entry) => (isMerged(file, entry.name) ? { ...entry, merged: true as const } : entry)),
  ...(file.constants ?? []).map(({ name, digest }) => ({ name, dtype: 'u8' as const, shape: [0], constant: digest })),
]

/** Returns the only tensor, for formats that hold exactly one. Throws bad_request for none or several. */
export const onlyTensor = (layout: Layout, title: string): LayoutEntry => {
  const [only] = layout
  if (only === undefined || layout.length !== 1) throw badRequest(`${title} contains exactly one tensor.`)
  return only
}

/** Describes the first difference between the expected layout and a file's as a phrase; null if they match. */
export const firstDifference = (expected: Layout, actual: Layout): string | null => {
  const actualByName = new Map(actual.map((entry) => [entry.name, entry]))
  // Files that hold only weights, such as an .npz for an .onnx, have no constants.
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

/** Throws bad_request naming the first difference of an update and both values; `model` names what it is compared with. */
export const requireSameLayout = (
  expected: Layout,
  file: Pick<TensorPlaces, 'tensors' | 'constants'>,
  model = 'the model of the round',
): void => {
  const difference = firstDifference(expected, fullLayoutOf(file))
  if (difference !== null)
    throw badRequest(`The update does not match ${model}: ${difference}. Send weights of the same model.`)
}
