import { fedavg } from './fedavg.ts'
import type { StrategyFactory } from './strategy.ts'

export type StrategyName = 'fedavg'

export const STRATEGIES: Readonly<Record<StrategyName, StrategyFactory>> = { fedavg }
