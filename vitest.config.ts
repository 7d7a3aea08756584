import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    // For the programs that tests start from their .ts sources; worker threads see to it themselves (src/threads).
    execArgv: ['--import', 'tsx'],
    globalSetup: ['test/postgres.setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
