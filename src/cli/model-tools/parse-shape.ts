import { InvalidArgumentError } from 'commander'
import { decimalNumber } from '../../domain/decimal-number.ts'

const MAX_AXES = 8
const MAX_SIZE = 2 ** 31

/** `1,3,224,224` as sizes of a tensor's axes. */
export const parseShape = (text: string): readonly number[] => {
  const sizes = text.split(',').map(decimalNumber)
  if (sizes.length <= MAX_AXES && sizes.every((size) => Number.isInteger(size) && size >= 1 && size < MAX_SIZE))
    return sizes
  throw new InvalidArgumentError(`It must be up to ${MAX_AXES} whole numbers from 1, such as 1,3,224,224.`)
}
