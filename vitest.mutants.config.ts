import { defineConfig } from 'vitest/config'

// For `npm run mutants`: the unit tests of pure code, without databases and programs. Stryker decides on the rest.
export default defineConfig({
  test: {
    include: ['src/{domain,tensors,aggregation,secure-aggregation}/**/*.test.ts'],
    // Threads started from .ts sources need what only the whole suite prepares; thousands of random files take too long.
    exclude: ['**/aggregation-workers.test.ts', '**/screen.test.ts', '**/fuzz.test.ts'],
    testTimeout: 60_000,
  },
})
