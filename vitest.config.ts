import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    pool: 'forks',
    // Vitest's own default leaves one processor idle: half of the time on two.
    maxWorkers: Math.max(2, availableParallelism()),
    // The files of a process share modules and idle databases: both take longer to load than most files to run.
    isolate: false,
    // For the programs that tests start from their .ts sources; worker threads see to it themselves (src/platform/threads). And
    // compiling the embedded database a second time, for speed, costs more than it saves in the minutes that a run takes.
    execArgv: ['--import', 'tsx', '--liftoff-only'],
    globalSetup: ['test/postgres.setup.ts'],
    setupFiles: ['test/after-each-file.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Vitest gives up after a second, which a busy machine may need for nothing.
    expect: { poll: { timeout: 30_000, interval: 20 } },
  },
})
