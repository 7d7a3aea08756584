import { badRequest } from '../../domain/errors.ts'
import type { Static } from '../../platform/http/wire.schema.ts'
import type { DescriptiveBody } from './analytics.schema.ts'
import type { Conditions } from './analytics.service.ts'

const KNOWN_FILTERS = ['start_time', 'end_time', 'time_range', 'platform', 'min_sample_count']

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
    warnings: Object.keys(filters)
      .filter((name) => !KNOWN_FILTERS.includes(name))
      .map((name) => `The filter '${name}' is not known: it was ignored.`),
  }
}
