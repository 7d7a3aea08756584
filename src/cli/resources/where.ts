import { InvalidArgumentError } from 'commander'
import { conditionOrFault } from '../../domain/condition-text.ts'
import { type DeviceCondition, MAX_CONDITIONS } from '../../domain/device-filter.ts'
import { type ActionOption, option } from './resource.ts'

const toConditions = (text: string, before: readonly DeviceCondition[] = []): readonly DeviceCondition[] => {
  const condition = conditionOrFault(text)
  if (typeof condition === 'string') throw new InvalidArgumentError(condition)
  if (before.length >= MAX_CONDITIONS)
    throw new InvalidArgumentError(`At most ${MAX_CONDITIONS} conditions are accepted.`)
  return [...before, condition]
}

/** In a body, the conditions; in a query, their JSON. */
export const whereOption = (help: string, place: 'body' | 'query'): ActionOption =>
  option('--where <condition>', `${help}, such as platform=android or 'memory_gb>=6'; repeatable`, 'filter', {
    parse:
      place === 'body'
        ? toConditions
        : (text: string, before?: string) =>
            JSON.stringify(toConditions(text, before === undefined ? [] : (JSON.parse(before) as DeviceCondition[]))),
  })
