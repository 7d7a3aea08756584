import type * as child from '../child/protocol.ts'
import type { ModelFacts, Settings } from './settings.ts'

export type { EngineEvent, Failure } from '../child/protocol.ts'

/** What the service tells the process in which the model runs. */
export type Command = child.Command<Settings>

/** What that process tells the service. */
export type Message = child.Message<ModelFacts>
