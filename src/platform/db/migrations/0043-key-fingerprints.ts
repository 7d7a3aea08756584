/** Which keys an installation uses, so that a process with other key files does not start. */
export const keyFingerprints = {
  name: '0043-key-fingerprints',
  statements: [
    `create table key_fingerprints (
      -- The name of the key's file in the data folder.
      name text primary key,
      fingerprint text not null
    )`,
  ],
} as const
