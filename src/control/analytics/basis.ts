import type { Cell } from './memberships.ts'

/** A cell as a column of the matrix of groups and cells. */
export interface Column extends Cell {
  readonly index: number
  /** How many of its devices are in no basis yet. */
  unused: number
}

/** As many columns as there are independent groups, whose square matrix is invertible. */
export interface Basis {
  /** How many devices of each column it uses. */
  readonly weight: number
  readonly columns: Column[]
  /** For each column, a row with a number for each group; those that are not independent have zero. */
  readonly inverse: Int32Array[]
}

/** A group as ones at the indexes of its columns. */
export type Row = Uint8Array

/** A linear combination of groups: a coefficient for each, zero for those that are not independent and usually for most others. */
export interface Combination {
  readonly coefficients: Float64Array
  readonly nonzero: readonly number[]
}

/** Arithmetic modulo this prime is exact, with products below 2^53. Bases modulo a prime are also bases without it. */
const PRIME = 2 ** 26 - 5
const MAX_DENOMINATOR = 12

/**
 * The combination that equals the group on the columns of the basis, and the number of steps that this took.
 * @param independent the numbers of the basis's groups
 */
export const combinationIn = (
  { columns, inverse }: Basis,
  group: Row,
  independent: readonly number[],
  count: number,
): [Combination, steps: number] => {
  const coefficients = new Float64Array(count)
  let steps = columns.length
  for (const [at, { index }] of columns.entries()) {
    if (group[index] === 0) continue
    const row = inverse[at]!
    for (const number of independent) coefficients[number]! += row[number]!
    steps += independent.length
  }
  for (const number of independent) coefficients[number] = modulo(coefficients[number]!)
  return [{ coefficients, nonzero: independent.filter((number) => coefficients[number] !== 0) }, steps]
}

/** What the group is on the column, minus the combination. */
export const restOn = (column: Column, group: Row, { coefficients }: Combination): number => {
  let rest = group[column.index]!
  for (const index of column.groups) rest -= coefficients[index]!
  return modulo(rest)
}

/**
 * Whether a combination that is the group modulo the prime is so without it: a difference that the prime divides, and that is
 * smaller than it, is zero. Holds if the coefficients are small integers, or fractions with a small denominator.
 */
export const isCertain = ({ coefficients, nonzero }: Combination): boolean => {
  const fits = (denominator: number): boolean => {
    const sizes = nonzero.map((index) => modulo(coefficients[index]! * denominator))
    return sizes.reduce((sum, size) => sum + Math.min(size, PRIME - size), denominator) < PRIME
  }
  return Array.from({ length: MAX_DENOMINATOR }, (_, n) => n + 1).some(fits)
}

/** Adds a group and a column to the basis, by the formula for the inverse of a bordered matrix; returns the number of steps. */
export const extend = (
  { columns, inverse }: Basis,
  number: number,
  group: Row,
  combination: Combination,
  column: Column,
): number => {
  const { coefficients, nonzero } = combination
  const reciprocal = reciprocalOf(restOn(column, group, combination))
  let steps = columns.length * (1 + column.groups.length)
  for (const row of inverse) {
    let product = 0
    for (const other of column.groups) product += row[other]!
    const factor = modulo(modulo(product) * reciprocal)
    if (factor === 0) continue
    for (const other of nonzero) row[other] = modulo(row[other]! + factor * coefficients[other]!)
    row[number] = modulo(-factor)
    steps += nonzero.length
  }
  const added = Int32Array.from(coefficients, (value) => modulo(-modulo(value * reciprocal)))
  added[number] = reciprocal
  inverse.push(added)
  columns.push(column)
  return steps
}

const modulo = (value: number): number => value - Math.floor(value / PRIME) * PRIME

/** By Fermat's little theorem. */
const reciprocalOf = (value: number): number => {
  let [power, square] = [1, value]
  for (let exponent = PRIME - 2; exponent > 0; exponent = Math.floor(exponent / 2)) {
    if (exponent % 2 === 1) power = modulo(power * square)
    square = modulo(square * square)
  }
  return power
}
