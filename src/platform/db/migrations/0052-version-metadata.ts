/** What the uploader of a version recorded with it, by key. */
export const versionMetadata = {
  name: '0052-version-metadata',
  statements: [`alter table model_versions add column metadata jsonb not null default '{}'`],
} as const
