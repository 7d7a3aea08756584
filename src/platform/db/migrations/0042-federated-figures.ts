// The sentence that the service writes today, src/domain/failure-reasons.ts.
const REPORTED = 'The device reported a failure'

const withoutDevicesWords = (column: string): string =>
  `regexp_replace(${column}, '( devices? failed: ).*$', '\\1${REPORTED}')`

/**
 * Removes what earlier releases showed to all members of a federation: the figures of its rounds in the catalog, and what devices
 * wrote about their failures. Adds the number of the version that a device reported by its label.
 */
export const federatedFigures = {
  name: '0042-federated-figures',
  statements: [
    `update models m set accuracy = null, loss = null from rounds r
      where r.id = m.round_id and r.federation_id is not null and (m.accuracy is not null or m.loss is not null)`,
    `update model_versions v set metrics = '{}' from rounds r
      where r.id = v.round_id and r.federation_id is not null and v.metrics <> '{}'`,
    `update rounds set failure_reason = ${withoutDevicesWords('failure_reason')}
      where federation_id is not null and failure_reason like '%failed: %'`,
    `update training_jobs set reason = ${withoutDevicesWords('reason')}
      where federation_id is not null and reason like '%failed: %'`,
    `alter table plan_reports add column version_number integer`,
  ],
} as const
