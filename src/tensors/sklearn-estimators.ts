import type { Statistic } from './weight-file.ts'

/** Which attributes of an estimator are averaged, must be equal, or are merged; all others stay unchanged. */
export interface EstimatorRules {
  /** Arrays, or lists of arrays. */
  readonly averaged?: readonly string[]
  readonly constants?: readonly string[]
  readonly merged?: {
    readonly kind: Statistic['kind']
    /** Names and dimensions: c classes, f features; `?f` is one number or one per feature. */
    readonly arrays: Readonly<Record<string, '' | 'c' | 'f' | 'cf' | '?f'>>
    readonly options: readonly string[]
  }
  /** Why a round must begin with a model. */
  readonly needsModel?: string
}

const linear: EstimatorRules = { averaged: ['coef_', 'intercept_'] }
const network: EstimatorRules = { averaged: ['coefs_', 'intercepts_'], constants: ['activation', 'out_activation_'] }
const bayes = (
  kind: Statistic['kind'],
  more: Readonly<Record<string, 'f'>> = {},
  options: readonly string[] = [],
): EstimatorRules => ({
  merged: {
    kind,
    arrays: { class_count_: 'c', feature_count_: 'cf', feature_log_prob_: 'cf', class_log_prior_: 'c', ...more },
    options: ['alpha', 'force_alpha', 'fit_prior', 'class_prior', ...options],
  },
})
const clusters: EstimatorRules = {
  averaged: ['cluster_centers_'],
  needsModel:
    'Cluster centers are numbered differently on every device: start the round with a model (global_model_id) whose ' +
    'centers the devices begin from (KMeans(init=centers, n_init=1)).',
}

const LINEAR = [
  ...['LinearRegression', 'Ridge', 'RidgeCV', 'RidgeClassifier', 'RidgeClassifierCV', 'Lasso', 'LassoCV', 'ElasticNet'],
  ...['ElasticNetCV', 'LogisticRegression', 'LogisticRegressionCV', 'SGDClassifier', 'SGDRegressor', 'Perceptron'],
  ...['PassiveAggressiveClassifier', 'PassiveAggressiveRegressor', 'LinearSVC', 'LinearSVR', 'HuberRegressor'],
  ...['PoissonRegressor', 'GammaRegressor', 'TweedieRegressor', 'QuantileRegressor'],
]

/** By class name, for scikit-learn 1.0 and later. */
export const ESTIMATORS: Readonly<Record<string, EstimatorRules>> = {
  ...Object.fromEntries(LINEAR.map((name) => [name, linear])),
  MLPClassifier: network,
  MLPRegressor: network,
  KMeans: clusters,
  MiniBatchKMeans: clusters,
  StandardScaler: {
    merged: {
      kind: 'standard_scaler',
      arrays: { n_samples_seen_: '?f', mean_: 'f', var_: 'f', scale_: 'f' },
      options: ['with_mean', 'with_std'],
    },
  },
  MinMaxScaler: {
    merged: {
      kind: 'min_max_scaler',
      arrays: { data_min_: 'f', data_max_: 'f', data_range_: 'f', scale_: 'f', min_: 'f' },
      options: ['feature_range'],
    },
  },
  MaxAbsScaler: { merged: { kind: 'max_abs_scaler', arrays: { max_abs_: 'f', scale_: 'f' }, options: [] } },
  GaussianNB: {
    merged: {
      kind: 'gaussian_nb',
      arrays: { class_count_: 'c', theta_: 'cf', var_: 'cf', epsilon_: '', class_prior_: 'c' },
      options: ['var_smoothing', 'priors'],
    },
  },
  MultinomialNB: bayes('multinomial_nb'),
  BernoulliNB: bayes('bernoulli_nb', {}, ['binarize']),
  ComplementNB: bayes('complement_nb', { feature_all_: 'f' }, ['norm']),
  // Have no learned parameters.
  Normalizer: { constants: ['norm'] },
  Binarizer: { constants: ['threshold'] },
  PolynomialFeatures: { constants: ['degree', 'interaction_only', 'include_bias'] },
}
