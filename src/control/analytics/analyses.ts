import { setImmediate } from 'node:timers/promises'
import { type Anova, oneWayAnova, tukeyPairs } from '../../domain/statistics/anova.ts'
import { independenceTest } from '../../domain/statistics/chi-square.ts'
import { type Moments, varianceOf } from '../../domain/statistics/moments.ts'
import { welchTest } from '../../domain/statistics/t-test.ts'
import type { Sample } from './samples.ts'

/** A group with enough devices to be shown. */
export interface Group {
  readonly id: string
  readonly sample: Sample
}

export const describeGroup = ({ id, sample }: Group, withPercentiles: boolean) => ({
  ...summaryOf({ id, sample }),
  median: sample.quantile(0.5),
  min: sample.min,
  max: sample.max,
  percentiles: withPercentiles
    ? { p25: sample.quantile(0.25), p50: sample.quantile(0.5), p75: sample.quantile(0.75) }
    : null,
})

export const summaryOf = ({ id, sample: { shifted, shift } }: Group) => {
  const variance = varianceOf(shifted)
  return {
    group_id: id,
    count: shifted.count,
    mean: shift + shifted.mean,
    std_dev: variance === null ? null : Math.sqrt(variance),
  }
}

const NO_T_TEST = {
  t_statistic: null,
  p_value: null,
  degrees_of_freedom: null,
  confidence_interval: null,
  significant: false,
  effect_size: null,
}

/** Tests two groups; null stands for one that is withheld. */
export const testGroups = (a: Group | null, b: Group | null, level: number, warnings: string[]) => {
  const shown = [a, b].flatMap((group) => (group === null ? [] : [summaryOf(group)]))
  const test = a === null || b === null ? null : welchTest(a.sample.shifted, b.sample.shifted, level)
  if (test === null) {
    if (a !== null && b !== null) warnings.push('No test was run: the values within the groups do not vary.')
    return { ...NO_T_TEST, groups: shown }
  }
  return {
    t_statistic: test.tStatistic,
    p_value: test.pValue,
    degrees_of_freedom: test.degreesOfFreedom,
    confidence_interval: test.confidenceInterval,
    significant: test.pValue < 1 - level,
    effect_size: test.effectSize,
    groups: shown,
  }
}

const NO_ANOVA = {
  f_statistic: null,
  p_value: null,
  degrees_of_freedom_between: null,
  degrees_of_freedom_within: null,
  significant: false,
  effect_size: null,
  post_hoc_pairs: [],
}

/** Makes 1,225 pairs. */
const MAX_COMPARED_IN_PAIRS = 50

/** Compares all pairs; lets other requests run after each. */
const pairsOf = async (groups: readonly Group[], moments: readonly Moments[], anova: Anova, level: number) => {
  const pairs = []
  for (const { a, b, difference, pValue } of tukeyPairs(moments, anova)) {
    pairs.push({
      group_a: groups[a]!.id,
      group_b: groups[b]!.id,
      mean_difference: -difference,
      p_value: pValue,
      significant: pValue < 1 - level,
    })
    await setImmediate()
  }
  return pairs
}

export const compareGroups = async (
  groups: readonly Group[],
  { level, postHoc }: { readonly level: number; readonly postHoc: boolean },
  warnings: string[],
) => {
  const shown = groups.map(summaryOf)
  const moments = groups.map(({ sample }) => sample.shifted)
  const anova = oneWayAnova(moments)
  if (anova === null) {
    warnings.push(
      groups.length < 2
        ? 'No test was run: it needs at least two groups.'
        : 'No test was run: the values within the groups do not vary.',
    )
    return { ...NO_ANOVA, groups: shown }
  }
  const inPairs = postHoc && groups.length <= MAX_COMPARED_IN_PAIRS
  if (postHoc && !inPairs) {
    warnings.push(`Pairs are compared for at most ${MAX_COMPARED_IN_PAIRS} groups: list fewer groups in group_ids.`)
  }
  return {
    f_statistic: anova.fStatistic,
    p_value: anova.pValue,
    degrees_of_freedom_between: anova.degreesOfFreedomBetween,
    degrees_of_freedom_within: anova.degreesOfFreedomWithin,
    significant: anova.pValue < 1 - level,
    effect_size: anova.effectSize,
    post_hoc_pairs: inPairs ? await pairsOf(groups, moments, anova, level) : [],
    groups: shown,
  }
}

const NO_CHI_SQUARE = {
  chi_square_statistic: null,
  p_value: null,
  degrees_of_freedom: null,
  cramers_v: null,
  significant: false,
}

/** With fewer devices expected in a cell, the approximation is unreliable (Cochran 1954). */
const MIN_EXPECTED = 5

/** Tests a table of counts; null stands for one that is withheld. */
export const testTable = (table: readonly (readonly number[])[] | null, level: number, warnings: string[]) => {
  const test = table === null ? null : independenceTest(table)
  const size = { sample_size: (table ?? []).flat().reduce((sum, count) => sum + count, 0) }
  if (table === null) return { ...NO_CHI_SQUARE, sample_size: null }
  if (test === null) {
    warnings.push('No test was run: each variable needs at least two different values.')
    return { ...NO_CHI_SQUARE, ...size }
  }
  if (test.smallestExpected < MIN_EXPECTED) {
    warnings.push(
      `The smallest expected count is ${Number(test.smallestExpected.toPrecision(3))}: below ${MIN_EXPECTED} the p-value is unreliable.`,
    )
  }
  return {
    chi_square_statistic: test.statistic,
    p_value: test.pValue,
    degrees_of_freedom: test.degreesOfFreedom,
    cramers_v: test.cramersV,
    significant: test.pValue < 1 - level,
    ...size,
  }
}
