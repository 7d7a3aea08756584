import { badRequest } from '../domain/errors.ts'
import { showName, showShape } from './shape.ts'
import type { DType, TensorPlaces } from './weight-file.ts'

/** What two files must share so that they can be averaged: names, element types, shapes. Order is of no meaning. */
export type Layout = readonly LayoutEntry[]

export interface LayoutEntry {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
}

/** The layout of a file, in its order. */
export const layoutOf = (file: Pick<TensorPlaces, 'tensors'>): Layout =>
  file.tensors.map(({ name, dtype, shape }) => ({ name, dtype, shape }))

/** The tensor of a file that can hold only one. Throws bad_request for none and for several. */
export const onlyTensor = (layout: Layout, title: string): LayoutEntry => {
  const [only] = layout
  if (only === undefined || layout.length !== 1) throw badRequest(`${title} holds exactly one tensor.`)
  return only
}

/** The first difference between what is expected and what a file holds, as a sentence; null when there is none. */
export const firstDifference = (expected: Layout, actual: Layout): string | null => {
  const actualByName = new Map(actual.map((entry) => [entry.name, entry]))
  for (const { name, dtype, shape } of expected) {
    const entry = actualByName.get(name)
    const requested = `${dtype} ${showShape(shape)}`
    if (entry === undefined) return `tensor ${showName(name)} (${requested}) is missing`
    if (entry.shape.length !== shape.length || entry.shape.some((size, axis) => size !== shape[axis]))
      return `tensor ${showName(name)} has shape ${showShape(entry.shape)}, expected ${showShape(shape)}`
    if (entry.dtype !== dtype) return `tensor ${showName(name)} has type ${entry.dtype}, expected ${dtype}`
  }
  const names = new Set(expected.map(({ name }) => name))
  const extra = actual.find(({ name }) => !names.has(name))
  return extra === undefined
    ? null
    : `tensor ${showName(extra.name)} (${extra.dtype} ${showShape(extra.shape)}) is not part of it`
}

/** `label` starts the message: "The update". Throws bad_request naming the first difference and both sides' values. */
export const requireSameLayout = (expected: Layout, file: Pick<TensorPlaces, 'tensors'>, label: string): void => {
  const difference = firstDifference(expected, layoutOf(file))
  if (difference !== null)
    throw badRequest(`${label} does not match the model of the round: ${difference}. Send weights of the same model.`)
}
