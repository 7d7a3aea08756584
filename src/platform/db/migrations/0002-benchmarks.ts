/** Shared results of `svc benchmark`: anonymous, so there is no column for an organization, a key, a device or an address. */
export const benchmarks = {
  name: '0002-benchmarks',
  statements: [
    `create table benchmarks (
      id uuid primary key,
      ordinal bigint generated always as identity unique,
      engine text not null,
      report jsonb not null,
      -- A time to the second could be matched with a log of requests.
      reported_on date not null
    )`,
    `create index benchmarks_by_engine on benchmarks (engine, ordinal)`,
  ],
} as const
