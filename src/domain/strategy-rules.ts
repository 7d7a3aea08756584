import { byzantine, moments, type OptionRule, rate } from './strategy-options.ts'

/** Names in the literature for variants of fedopt (Reddi et al. 2021; Hsu et al. 2019). */
export const FEDOPT_VARIANTS = { fedyogi: 'yogi', fedadagrad: 'adagrad', fedavgm: 'momentum' } as const

/** A strategy's description, options, and capabilities. */
export interface StrategyRules {
  readonly description: string
  readonly options: Readonly<Record<string, OptionRule>>
  /** Whether noise can hide one update's contribution, for example because the aggregate is a plain mean; a string: why not. */
  readonly privacy: true | string
  /** Whether the server can compute it from the sum of all updates; a string: why not. */
  readonly secureAggregation: true | string
  /** A plain mean of the updates, with which statistics (scalers, naive Bayes) can be merged by their counts. */
  readonly mergesStatistics?: true
  /** Combines tree models (XGBoost), not tensors. */
  readonly trees?: true
  /** Works on changes to a model, so a round cannot start without one. */
  readonly needsModel?: true
  /** Rounds overlap: devices submit whenever they are ready. Such a strategy has the options buffer and max_staleness. */
  readonly asynchronous?: true
  /** The server and the devices store control variates; the population is counted, and updates include a second file. */
  readonly controlVariates?: true
  /** Devices also train a personal model, which they keep. */
  readonly personalModel?: true
  /** Options that the devices apply during training; sent in the plan's hyperparameters. */
  readonly onDevice?: readonly string[]
}

const EVERY_UPDATE = 'it compares the updates with each other, which a server that sees only their sum cannot do'
const TREES = 'trees are added to the model as they are, and show the data that they were trained on'
const UNBOUNDED =
  'the influence of one update on its result has no known bound, so no noise level is known to be sufficient'

/** In the documentation's order. A strategy is defined by a row here and its factory in `src/aggregation/strategies.ts`. */
const TABLE = {
  fedavg: {
    description: 'The mean of all updates, weighted by their samples (McMahan et al. 2017).',
    options: {},
    privacy: true,
    secureAggregation: true,
    mergesStatistics: true,
  },
  fedprox: {
    description:
      'Devices stay near the global model and may submit partial work; the server averages (Li et al. 2020).',
    options: {
      mu: {
        kind: 'number',
        min: 0,
        max: 1000,
        default: 0.01,
        description: 'Weight of the proximal term.',
      },
    },
    privacy: true,
    secureAggregation: true,
    mergesStatistics: true,
    onDevice: ['mu'],
  },
  scaffold: {
    description: 'Control variates correct the drift of devices whose data differ (Karimireddy et al. 2020).',
    options: { server_learning_rate: rate('Server learning rate.', 1) },
    privacy: `control variates leave the device unclipped, and ${UNBOUNDED}`,
    secureAggregation: 'its control variates are sent with the update unmasked',
    controlVariates: true,
    needsModel: true,
  },
  krum: {
    description: 'Takes the update that is nearest to its neighbors (Blanchard et al. 2017).',
    options: {
      byzantine,
      keep: { kind: 'integer', min: 1, max: 10_000, default: 1, description: 'Number of updates that are averaged.' },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
  },
  multikrum: {
    description: 'Averages the updates that are nearest to their neighbors (Blanchard et al. 2017).',
    options: {
      byzantine,
      keep: {
        kind: 'integer',
        min: 0,
        max: 10_000,
        default: 0,
        description: 'Number of updates that are averaged; 0: all but f.',
      },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
  },
  fedmedian: {
    description: 'The median of every coordinate (Yin et al. 2018).',
    options: {},
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
  },
  fedtrimmedavg: {
    description: 'The mean of every coordinate without its lowest and highest values (Yin et al. 2018).',
    options: {
      trim: {
        kind: 'number',
        min: 0,
        max: 0.5,
        exclusiveMaximum: true,
        default: 0.2,
        description: 'Share dropped at each end: floor(trim * n) updates.',
      },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
  },
  fedopt: {
    description: 'The mean change drives an optimizer on the server (Reddi et al. 2021; momentum: Hsu et al. 2019).',
    options: {
      variant: {
        kind: 'choice',
        choices: ['momentum', 'adagrad', 'yogi', 'adam'],
        default: 'yogi',
        description: 'Which optimizer.',
      },
      server_learning_rate: rate('Server learning rate; default 1 for momentum, 0.1 for the others.', (given) =>
        given.variant === 'momentum' ? 1 : 0.1,
      ),
      ...moments,
    },
    privacy: true,
    secureAggregation: true,
    needsModel: true,
  },
  fedadam: {
    description: 'The mean change drives Adam on the server (Reddi et al. 2021).',
    options: {
      form: {
        kind: 'choice',
        choices: ['paper', 'flower'],
        default: 'paper',
        description: 'paper: v starts at tau squared; flower: bias correction, and v starts at 0.',
      },
      server_learning_rate: rate('Server learning rate.', 0.1),
      ...moments,
    },
    privacy: true,
    secureAggregation: true,
    needsModel: true,
  },
  ditto: {
    description: 'Each device also trains a personal model near the global one; the server averages (Li et al. 2021).',
    options: {
      lambda: {
        kind: 'number',
        min: 0,
        max: 1000,
        default: 0.1,
        description: 'Weight of the proximal term of the personal model.',
      },
    },
    privacy: true,
    secureAggregation: true,
    mergesStatistics: true,
    personalModel: true,
    onDevice: ['lambda'],
  },
  fedbuff: {
    description: 'Asynchronous: every K updates change the model, weighted by staleness (Nguyen et al. 2022).',
    options: {
      buffer: {
        kind: 'integer',
        min: 1,
        max: 10_000,
        default: 10,
        description: 'K, the number of updates per aggregation.',
      },
      server_learning_rate: rate('Server learning rate.', 1),
      staleness_exponent: {
        kind: 'number',
        min: 0,
        max: 10,
        default: 0.5,
        description: 'a in (1 + staleness)^-a, the weight of a late update.',
      },
      max_staleness: {
        kind: 'integer',
        min: 0,
        max: 1000,
        default: 50,
        description: 'Updates of greater staleness are refused.',
      },
    },
    privacy: `a device may count several times, and ${UNBOUNDED}`,
    secureAggregation: 'its devices do not submit in the same round, so there is no sum to mask',
    asynchronous: true,
  },
  xgb_bagging: {
    description: 'XGBoost: the new trees of every device are added to the model (like FedXgbBagging in Flower).',
    options: {},
    privacy: TREES,
    secureAggregation: TREES,
    trees: true,
  },
  xgb_cyclic: {
    description: 'XGBoost: devices continue training one after another (like FedXgbCyclic in Flower).',
    options: {},
    privacy: TREES,
    secureAggregation: TREES,
    trees: true,
  },
} as const satisfies Readonly<Record<string, StrategyRules>>

export type StrategyName = keyof typeof TABLE

export const STRATEGY_RULES: Readonly<Record<StrategyName, StrategyRules>> = TABLE

/** Strategies for trees, not tensors. */
export type TreeStrategyName = {
  [Name in StrategyName]: (typeof TABLE)[Name] extends { readonly trees: true } ? Name : never
}[StrategyName]

export const isTreeStrategy = (name: StrategyName): name is TreeStrategyName => STRATEGY_RULES[name].trees === true

export const STRATEGY_NAMES = Object.keys(TABLE) as readonly StrategyName[]

/** All names accepted in requests; responses use those of STRATEGY_NAMES. */
export const ACCEPTED_STRATEGY_NAMES = [
  ...STRATEGY_NAMES,
  ...(Object.keys(FEDOPT_VARIANTS) as (keyof typeof FEDOPT_VARIANTS)[]),
] as const

export type AcceptedStrategyName = (typeof ACCEPTED_STRATEGY_NAMES)[number]

/** The strategy of a round or job that does not name one. */
export const DEFAULT_STRATEGY: StrategyName = 'fedavg'

export const isFedoptVariant = (name: string): name is keyof typeof FEDOPT_VARIANTS =>
  Object.hasOwn(FEDOPT_VARIANTS, name)

export const isStrategyName = (name: string): name is StrategyName => Object.hasOwn(STRATEGY_RULES, name)

/** Returns the rules of a strategy by the name in a plan; undefined for names unknown to this version. */
export const rulesOf = (name: string): StrategyRules | undefined =>
  isStrategyName(name) ? STRATEGY_RULES[name] : undefined
