import type { StrategyName, TreeStrategyName } from '../domain/strategy-rules.ts'
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
import type { TreeStrategy } from './trees.ts'
import { xgbBagging } from './xgb-bagging.ts'
import { xgbCyclic } from './xgb-cyclic.ts'

export const STRATEGIES: Readonly<Record<Exclude<StrategyName, TreeStrategyName>, StrategyFactory>> = {
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

export const TREE_STRATEGIES: Readonly<Record<TreeStrategyName, TreeStrategy>> = {
  xgb_bagging: xgbBagging,
  xgb_cyclic: xgbCyclic,
}
