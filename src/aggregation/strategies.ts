import type { StrategyName } from '../domain/strategy-rules.ts'
import { ditto } from './ditto.ts'
import { fedadam } from './fedadam.ts'
import { fedavg } from './fedavg.ts'
import { fedbuff } from './fedbuff.ts'
import { fedmedian } from './fedmedian.ts'
import { fedopt } from './fedopt.ts'
import { fedprox } from './fedprox.ts'
import { fedtrimmedavg } from './fedtrimmedavg.ts'
import { krum, multikrum } from './krum.ts'
import { scaffold } from './scaffold.ts'
import type { StrategyFactory } from './strategy.ts'

export const STRATEGIES: Readonly<Record<StrategyName, StrategyFactory>> = {
  fedavg,
  fedprox,
  scaffold,
  krum,
  multikrum,
  fedmedian,
  fedtrimmedavg,
  fedopt,
  fedadam,
  ditto,
  fedbuff,
}
