/** The latest rounds are read by every list, by status pages and by devices that poll. */
export const roundsByCreation = {
  name: '0040-rounds-by-creation',
  statements: ['create index rounds_by_creation on rounds (created_at, round_number)'],
} as const
