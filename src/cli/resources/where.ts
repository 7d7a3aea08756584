import { InvalidArgumentError } from 'commander'
import { CONDITION_GRAMMAR, conditionOf } from '../../domain/condition-text.ts'
import { DEVICE_FIELD_NAMES, type DeviceCondition, isDeviceField, MAX_CONDITIONS } from '../../domain/device-filter.ts'
import { infiniteIn } from '../../domain/infinite-number.ts'
import { meantBy } from '../../domain/misspelling.ts'
import { type ActionOption, option } from './resource.ts'

const toConditions = (text: string, before: readonly DeviceCondition[] = []): readonly DeviceCondition[] => {
  const condition = conditionOf(text)
  if (condition === null) throw new InvalidArgumentError(`It must be ${CONDITION_GRAMMAR}.`)
  if (before.length >= MAX_CONDITIONS)
    throw new InvalidArgumentError(`At most ${MAX_CONDITIONS} conditions are accepted.`)
  if (infiniteIn(condition.value) !== null) throw new InvalidArgumentError('A number is out of range.')
  const { field } = condition
  const meant =
    isDeviceField(field) || text.includes(field)
      ? null
      : meantBy(field.replace('capabilities.', ''), DEVICE_FIELD_NAMES)
  if (meant !== null) throw new InvalidArgumentError(`Did you mean ${meant}? The capability is ${field}.`)
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
