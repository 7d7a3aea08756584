import {
  OPTIONAL_ENGINES,
  type OptionalEngine,
  optionalEngineNamed,
} from '../../inference/engines/optional/optional-engine.ts'
import { wrongUsage } from '../failure.ts'

const NAMES = OPTIONAL_ENGINES.flatMap(({ names }) => names)

export const OPTIONAL_ENGINE_NAMES = NAMES.join(', ')

/** @throws Failure that lists the engines that svc can install */
export const requireOptionalEngine = (name: string): OptionalEngine => {
  const part = optionalEngineNamed(name)
  if (part !== null) return part
  throw wrongUsage(
    `'${name}' is not an optional engine. Available: ${OPTIONAL_ENGINE_NAMES}.`,
    'How to install the other engines: svc engines list',
  )
}
