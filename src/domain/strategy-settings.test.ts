import { describe, expect, it } from 'vitest'
import { ACCEPTED_STRATEGY_NAMES, STRATEGY_NAMES } from './strategy-rules.ts'
import { requirePrivacyAllowed, requireSecureAggregationAllowed, strategySettings } from './strategy-settings.ts'

describe('the settings of a strategy', () => {
  it('default to fedavg', () => {
    expect(strategySettings()).toEqual({ name: 'fedavg', options: {} })
  })

  it.each([
    ['fedavg', {}],
    ['fedprox', { mu: 0.01 }],
    ['scaffold', { server_learning_rate: 1 }],
    ['krum', { byzantine: 1, keep: 1 }],
    ['multikrum', { byzantine: 1, keep: 0 }],
    ['fedmedian', {}],
    ['fedtrimmedavg', { trim: 0.2 }],
    ['fedopt', { variant: 'yogi', server_learning_rate: 0.1, beta1: 0.9, beta2: 0.99, tau: 0.001 }],
    ['fedadam', { form: 'paper', server_learning_rate: 0.1, beta1: 0.9, beta2: 0.99, tau: 0.001 }],
    ['ditto', { lambda: 0.1 }],
    ['fedbuff', { buffer: 10, server_learning_rate: 1, staleness_exponent: 0.5, max_staleness: 50 }],
  ])('for %s have defaults', (name, options) => {
    expect(strategySettings(name)).toEqual({ name, options })
  })

  it('have defaults that depend on the variant', () => {
    expect(strategySettings('fedopt', { variant: 'momentum' }).options).toMatchObject({ server_learning_rate: 1 })
    expect(strategySettings('fedopt', { variant: 'adagrad' }).options).toMatchObject({ beta1: 0 })
    expect(strategySettings('fedopt', { variant: 'adagrad', beta1: 0.5 }).options).toMatchObject({ beta1: 0.5 })
  })

  it.each([
    ['fedyogi', 'yogi'],
    ['fedadagrad', 'adagrad'],
    ['fedavgm', 'momentum'],
  ])('for %s are those of fedopt with the variant %s', (name, variant) => {
    expect(strategySettings(name)).toEqual(strategySettings('fedopt', { variant }))
    expect(strategySettings(name, { beta1: 0.5, variant })).toEqual(strategySettings('fedopt', { variant, beta1: 0.5 }))
    expect(() => strategySettings(name, { variant: 'adam' })).toThrow(
      `strategy_options.variant must be left out, or '${variant}': ${name} is fedopt with that variant.`,
    )
    expect(() => strategySettings(name, { mu: 1 })).toThrow('strategy_options.mu is not an option of fedopt')
  })

  it.each([
    ['sgd', {}, `strategy 'sgd' is unknown. Use one of: ${ACCEPTED_STRATEGY_NAMES.join(', ')}.`],
    ['toString', {}, /unknown/],
    ['fedavg', { mu: 1 }, 'strategy_options.mu is not an option of fedavg, which has none.'],
    ['krum', { trim: 0.2 }, 'strategy_options.trim is not an option of krum, which has: byzantine, keep.'],
    ['fedtrimmedavg', { trim: 0.5 }, 'strategy_options.trim must be a number of at least 0 and below 0.5. It is 0.5.'],
    ['fedtrimmedavg', { trim: '0.2' }, /It is '0.2'/],
    ['krum', { byzantine: 1.5 }, /byzantine must be a whole number of at least 0/],
    ['scaffold', { server_learning_rate: 0 }, /must be a number above 0/],
    ['fedprox', { mu: Number.NaN }, /It is NaN/],
    [
      'fedopt',
      { variant: 'sgd' },
      "strategy_options.variant must be one of: momentum, adagrad, yogi, adam. It is 'sgd'.",
    ],
  ])('for %s with %j are refused, naming the field', (name, options, message) => {
    expect(() => strategySettings(name, options)).toThrow(message)
  })
})

describe('what a strategy can be combined with', () => {
  const allowedBy = (check: (name: (typeof STRATEGY_NAMES)[number]) => void) =>
    STRATEGY_NAMES.filter((name) => {
      try {
        check(name)
        return true
      } catch {
        return false
      }
    })

  it('includes privacy if the aggregate is a mean of updates', () => {
    expect(allowedBy(requirePrivacyAllowed)).toEqual(['fedavg', 'fedprox', 'fedopt', 'fedadam', 'ditto'])
    expect(() => requirePrivacyAllowed('krum')).toThrow(/Use fedavg, fedprox, fedopt, fedadam, ditto\.$/)
  })

  it('includes secure aggregation if a sum is enough', () => {
    expect(allowedBy(requireSecureAggregationAllowed)).toEqual(['fedavg', 'fedprox', 'fedopt', 'fedadam', 'ditto'])
    expect(() => requireSecureAggregationAllowed('fedmedian')).toThrow(/only their sum/)
  })
})
