import { badRequest } from '../../domain/errors.ts'
import type { Static } from '../../platform/http/wire.schema.ts'
import type { DescriptiveBody } from './analytics.schema.ts'
import type { Conditions } from './analytics.service.ts'

const KNOWN_FILTERS = ['start_time', 'end_time', 'time_range', 'platform', 'min_sample_count']

const MAX_NAMED = 10
const MAX_NAME_LENGTH = 100

/** A warning about unknown filters, which is stored with the query; empty if there are none. */
const unknownFilters = (filters: object): string[] => {
  const unknown = Object.keys(filters).filter((name) => !KNOWN_FILTERS.includes(name))
  if (unknown.length === 0) return []
  const named = unknown.slice(0, MAX_NAMED).map((name) => `'${name.slice(0, MAX_NAME_LENGTH)}'`)
  const more = unknown.length > MAX_NAMED ? ' and others' : ''
  return [
    unknown.length === 1
      ? `The filter ${named[0]} is not known: it was ignored.`
      : `The filters ${named.join(', ')}${more} are not known: they were ignored.`,
  ]
}

/** Parses the filters of a request. Unknown ones are ignored with a warning. */
export const conditionsOf = (filters: Static<typeof DescriptiveBody>['filters'] = {}): Conditions => {
  const { start_time, end_time, time_range, platform, min_sample_count } = filters
  const [start, end] = [start_time ?? time_range?.start, end_time ?? time_range?.end]
  const startTime = start === undefined ? undefined : new Date(start)
  const endTime = end === undefined ? undefined : new Date(end)
  if (startTime !== undefined && endTime !== undefined && startTime > endTime) {
    throw badRequest('filters: the time range ends before it starts.')
  }
  return {
    startTime,
    endTime,
    platforms: platform === undefined || Array.isArray(platform) ? platform : [platform],
    minSampleCount: min_sample_count,
    warnings: unknownFilters(filters),
  }
}
