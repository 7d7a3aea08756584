import { PARTS, type Part, partNamed } from '../../inference/engines/parts/part.ts'
import { wrongUsage } from '../failure.ts'

const NAMES = PARTS.flatMap(({ names }) => names)

export const PART_ARGUMENT = NAMES.join(', ')

/** @throws Failure, which says what can be installed by us */
export const requireNamed = (name: string): Part => {
  const part = partNamed(name)
  if (part !== null) return part
  throw wrongUsage(
    `'${name}' is no optional part. There are ${PART_ARGUMENT}.`,
    'How to get the other engines: svc engines list',
  )
}
