import { InvalidArgumentError } from 'commander'
import { CONDITION_GRAMMAR, conditionOf } from '../../domain/condition-text.ts'
import type { DeviceCondition } from '../../domain/device-filter.ts'
import { type ActionOption, option } from './resource.ts'

const toConditions = (text: string, before: readonly DeviceCondition[] = []): readonly DeviceCondition[] => {
  const condition = conditionOf(text)
  if (condition === null) throw new InvalidArgumentError(`It must be ${CONDITION_GRAMMAR}.`)
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
