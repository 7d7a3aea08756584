import type * as child from '../child/protocol.ts'
import type { ModelFacts, Settings } from './settings.ts'

export type { Failure, Happening } from '../child/protocol.ts'

/** What the service tells the process in which the model runs. */
export type Order = child.Order<Settings>

/** What that process tells the service. */
export type News = child.News<ModelFacts>
