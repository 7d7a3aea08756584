import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // Worker threads are started from their .ts sources in tests; tsx teaches Node to read them.
    execArgv: ['--import', 'tsx'],
    globalSetup: ['test/postgres.setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
