/** The latest rounds are read by all lists, status pages, and polling devices. */
export const roundsByCreation = {
  name: '0040-rounds-by-creation',
  statements: ['create index rounds_by_creation on rounds (created_at, round_number)'],
} as const
