import { ids, times } from '../example-ids.ts'

const heading = (query_type: string, variable: string) => ({
  query_id: ids.query,
  federation_id: ids.federation,
  query_type,
  variable,
  status: 'completed',
  created_at: times.reported,
})
const acme = { group_id: 'acme', count: 118, mean: 0.34, std_dev: 0.06 }
const globex = { group_id: 'globex', count: 97, mean: 0.31, std_dev: 0.07 }
const newDescription = { variable: 'local_accuracy', group_by: 'federation_member', include_percentiles: true }
const result = {
  groups: [{ ...acme, median: 0.35, min: 0.18, max: 0.47, percentiles: { p25: 0.3, p50: 0.35, p75: 0.39 } }],
  warnings: [],
}
const query = {
  id: ids.query,
  federation_id: ids.federation,
  org_id: 'acme',
  query_type: 'descriptive',
  variable: 'local_accuracy',
  request: newDescription,
  status: 'completed',
  result,
  reason: null,
  created_at: times.reported,
}

export const examples = {
  newDescription,
  description: { ...heading('descriptive', 'local_accuracy'), ...result },
  newTTest: { variable: 'local_accuracy', group_a: 'acme', group_b: 'globex', confidence_level: 0.95 },
  tTest: {
    ...heading('t-test', 'local_accuracy'),
    t_statistic: 3.33,
    p_value: 0.001,
    degrees_of_freedom: 190.4,
    confidence_interval: { lower: 0.012, upper: 0.048, level: 0.95 },
    significant: true,
    effect_size: 0.46,
    groups: [acme, globex],
    warnings: [],
  },
  newAnova: { variable: 'local_accuracy', group_by: 'federation_member', post_hoc: true },
  anova: {
    ...heading('anova', 'local_accuracy'),
    f_statistic: 11.2,
    p_value: 0.001,
    degrees_of_freedom_between: 1,
    degrees_of_freedom_within: 213,
    significant: true,
    effect_size: 0.05,
    post_hoc_pairs: [{ group_a: 'acme', group_b: 'globex', mean_difference: 0.03, p_value: 0.001, significant: true }],
    groups: [acme, globex],
    warnings: [],
  },
  newChiSquare: { variable_1: 'platform', variable_2: 'status' },
  chiSquare: {
    ...heading('chi-square', 'platform, status'),
    chi_square_statistic: 2.1,
    p_value: 0.55,
    degrees_of_freedom: 3,
    cramers_v: 0.1,
    significant: false,
    sample_size: 215,
    warnings: [],
  },
  query,
  queryList: { queries: [query], total: 1, limit: 20, offset: 0 },
} as const
