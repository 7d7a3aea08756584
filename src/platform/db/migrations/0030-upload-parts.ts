/** Partial uploads whose pieces are in S3: the stored pieces, and the current writer. */
export const uploadParts = {
  name: '0030-upload-parts',
  statements: [
    `create table partial_uploads (
      -- Of organization, hash and size.
      name text primary key,
      -- Bytes that are there without a gap.
      size bigint not null default 0,
      writer uuid,
      writer_until timestamptz,
      touched_at timestamptz not null
    )`,
    `create index partial_uploads_by_age on partial_uploads (touched_at)`,
    `create table upload_parts (
      upload text not null references partial_uploads (name) on delete cascade,
      -- Of its first byte in the file.
      start bigint not null,
      -- 0 until it is stored.
      size bigint not null default 0,
      primary key (upload, start)
    )`,
  ],
} as const
