import type { OptionRule, StrategyOptions } from './strategy-options.ts'

/** The nine of the interface, multikrum, which is Krum that averages several, and fedbuff, which waits for nobody. */
export const STRATEGY_NAMES = [
  'fedavg',
  'fedprox',
  'scaffold',
  'krum',
  'multikrum',
  'fedmedian',
  'fedtrimmedavg',
  'fedopt',
  'fedadam',
  'ditto',
  'fedbuff',
] as const

export type StrategyName = (typeof STRATEGY_NAMES)[number]

/** Names that the literature has for variants of fedopt (Reddi et al. 2021; Hsu et al. 2019). */
export const FEDOPT_VARIANTS = { fedyogi: 'yogi', fedadagrad: 'adagrad', fedavgm: 'momentum' } as const

/** Every name that a request may give; answers have those of STRATEGY_NAMES. */
export const ACCEPTED_STRATEGY_NAMES = [
  ...STRATEGY_NAMES,
  ...(Object.keys(FEDOPT_VARIANTS) as (keyof typeof FEDOPT_VARIANTS)[]),
] as const

export type AcceptedStrategyName = (typeof ACCEPTED_STRATEGY_NAMES)[number]

/** What a strategy is, what can be set, and what it goes together with; a string says why it does not. */
export interface StrategyRules {
  readonly about: string
  readonly options: Readonly<Record<string, OptionRule>>
  /** Clipping and noise bound what one update can move; true where the aggregate is a plain mean of updates. */
  readonly privacy: true | string
  /** Whether the server can do with the sum of all updates alone. */
  readonly secureAggregation: true | string
  /** Whether rounds overlap: devices deliver when they are ready. */
  readonly asynchronous: boolean
  /** Options that the devices apply while they train; they travel in the plan's hyperparameters. */
  readonly onDevice: readonly string[]
}

const rate = (about: string, fallback: OptionRule['fallback']): OptionRule => ({
  kind: 'number',
  min: 0,
  above: true,
  max: 1000,
  fallback,
  about,
})

const byzantine: OptionRule = {
  kind: 'integer',
  min: 0,
  max: 10_000,
  fallback: 1,
  about: 'f, how many of the updates may lie; a round needs at least 2f + 3 updates.',
}

/** Reddi et al. 2021, "Adaptive Federated Optimization", algorithm 2 and appendix: beta1 0.9, beta2 0.99, tau 1e-3. */
const moments = {
  beta1: {
    kind: 'number',
    min: 0,
    max: 1,
    below: true,
    // The paper's Adagrad goes without momentum.
    fallback: (given: StrategyOptions) => (given.variant === 'adagrad' ? 0 : 0.9),
    about: 'How much of the last direction is kept.',
  },
  beta2: {
    kind: 'number',
    min: 0,
    max: 1,
    below: true,
    fallback: 0.99,
    about: 'How much of the squared steps is kept; unused by momentum and adagrad.',
  },
  tau: {
    kind: 'number',
    min: 0,
    above: true,
    max: 1,
    fallback: 1e-3,
    about: 'How adaptive the step is: smaller is more. v starts at tau squared.',
  },
} as const satisfies Readonly<Record<string, OptionRule>>

const EVERY_UPDATE = 'it compares the updates with each other, which a server that sees only their sum cannot do'
const UNBOUNDED = 'what one update can move in its result has no known bound, so no amount of noise is known to hide it'

export const STRATEGY_RULES: Readonly<Record<StrategyName, StrategyRules>> = {
  fedavg: {
    about: 'The mean of all updates, weighted by their samples (McMahan et al. 2017).',
    options: {},
    privacy: true,
    secureAggregation: true,
    asynchronous: false,
    onDevice: [],
  },
  fedprox: {
    about: 'Devices stay near the global model and may deliver partial work; the server averages (Li et al. 2020).',
    options: {
      mu: { kind: 'number', min: 0, max: 1000, fallback: 0.01, about: 'How strongly devices are held to the model.' },
    },
    privacy: true,
    secureAggregation: true,
    asynchronous: false,
    onDevice: ['mu'],
  },
  scaffold: {
    about: 'Control variates correct the drift of devices whose data differ (Karimireddy et al. 2020).',
    options: { server_learning_rate: rate('Step of the server along the mean change.', 1) },
    privacy: `control variates leave the device unclipped, and ${UNBOUNDED}`,
    secureAggregation: 'its control variates travel beside the update and are not masked',
    asynchronous: false,
    onDevice: [],
  },
  krum: {
    about: 'Takes the update that is nearest to its neighbors (Blanchard et al. 2017).',
    options: {
      byzantine,
      keep: { kind: 'integer', min: 1, max: 10_000, fallback: 1, about: 'How many of the best are averaged.' },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
    asynchronous: false,
    onDevice: [],
  },
  multikrum: {
    about: 'Averages the updates that are nearest to their neighbors (Blanchard et al. 2017).',
    options: {
      byzantine,
      keep: {
        kind: 'integer',
        min: 0,
        max: 10_000,
        fallback: 0,
        about: 'How many of the best are averaged; 0 is all but f.',
      },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
    asynchronous: false,
    onDevice: [],
  },
  fedmedian: {
    about: 'The median of every coordinate (Yin et al. 2018).',
    options: {},
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
    asynchronous: false,
    onDevice: [],
  },
  fedtrimmedavg: {
    about: 'The mean of every coordinate without its lowest and highest values (Yin et al. 2018).',
    options: {
      trim: {
        kind: 'number',
        min: 0,
        max: 0.5,
        below: true,
        fallback: 0.2,
        about: 'The share dropped at either end; floor(trim * n) updates.',
      },
    },
    privacy: UNBOUNDED,
    secureAggregation: EVERY_UPDATE,
    asynchronous: false,
    onDevice: [],
  },
  fedopt: {
    about: 'The mean change drives an optimizer on the server (Reddi et al. 2021; momentum: Hsu et al. 2019).',
    options: {
      variant: {
        kind: 'choice',
        choices: ['momentum', 'adagrad', 'yogi', 'adam'],
        fallback: 'yogi',
        about: 'Which optimizer.',
      },
      server_learning_rate: rate(
        'Step of the server; 1 for momentum, 0.1 for the others unless it is given.',
        (given) => (given.variant === 'momentum' ? 1 : 0.1),
      ),
      ...moments,
    },
    privacy: true,
    secureAggregation: true,
    asynchronous: false,
    onDevice: [],
  },
  fedadam: {
    about: 'The mean change drives Adam on the server (Reddi et al. 2021).',
    options: {
      form: {
        kind: 'choice',
        choices: ['paper', 'flower'],
        fallback: 'paper',
        about: "The paper's form, or Flower's with bias correction and v starting at 0.",
      },
      server_learning_rate: rate('Step of the server.', 0.1),
      ...moments,
    },
    privacy: true,
    secureAggregation: true,
    asynchronous: false,
    onDevice: [],
  },
  ditto: {
    about: 'Every device also keeps a model of its own near the global one; the server averages (Li et al. 2021).',
    options: {
      lambda: {
        kind: 'number',
        min: 0,
        max: 1000,
        fallback: 0.1,
        about: 'How strongly the personal model is held to the global one.',
      },
    },
    privacy: true,
    secureAggregation: true,
    asynchronous: false,
    onDevice: ['lambda'],
  },
  fedbuff: {
    about: 'Asynchronous: every K changes move the model, old ones less (Nguyen et al. 2022).',
    options: {
      buffer: { kind: 'integer', min: 1, max: 10_000, fallback: 10, about: 'K, how many updates move the model once.' },
      server_learning_rate: rate('Step of the server.', 1),
      staleness_exponent: {
        kind: 'number',
        min: 0,
        max: 10,
        fallback: 0.5,
        about: 'a in (1 + staleness)^-a, the weight of a late update.',
      },
      max_staleness: {
        kind: 'integer',
        min: 0,
        max: 1000,
        fallback: 50,
        about: 'Updates that began more rounds ago are refused.',
      },
    },
    privacy: `a device may count several times, and ${UNBOUNDED}`,
    secureAggregation: 'its devices never deliver together, so there is no sum to hide in',
    asynchronous: true,
    onDevice: [],
  },
}

export const isFedoptVariant = (name: string): name is keyof typeof FEDOPT_VARIANTS =>
  Object.hasOwn(FEDOPT_VARIANTS, name)

export const isStrategyName = (name: string): name is StrategyName => Object.hasOwn(STRATEGY_RULES, name)
