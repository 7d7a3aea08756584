/** Receipts of erased devices, which also prevent them from enrolling again on their own. */
export const deviceErasures = {
  name: '0039-device-erasures',
  statements: [
    `create table device_erasures (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      -- A keyed hash of organization and device_id: the name itself is not kept.
      device_hash text not null,
      -- The receipt as it was signed.
      document text not null,
      signature text not null,
      erased_at timestamptz not null
    )`,
    `create index device_erasures_by_device on device_erasures (device_hash)`,
    `create index device_erasures_by_org on device_erasures (org_id, ordinal desc)`,
  ],
} as const
