import { PARTS, type Part, partNamed } from '../../inference/engines/parts/part.ts'
import { wrongUsage } from '../failure.ts'

const NAMES = PARTS.flatMap(({ names }) => names)

export const PART_ARGUMENT = NAMES.join(', ')

/** @throws Failure, which says what can be installed by us */
export const requireNamed = (name: string): Part => {
  const part = partNamed(name)
  if (part !== null) return part
  throw wrongUsage(
    `'${name}' is not an optional engine. Available: ${PART_ARGUMENT}.`,
    'How to install the other engines: svc engines list',
  )
}
