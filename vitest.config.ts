import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const MEMORY = '/dev/shm'
const GIB = 2 ** 30

/** Whether files in memory have room for all that tests write, and leave some: none of them is to outlive a power cut. */
const hasRoom = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY)
    // Some tests run programs that they have installed there.
    return bavail * bsize >= 16 * GIB && mount !== undefined && !mount.includes('noexec')
  } catch {
    return false
  }
}

// Of databases and services that wait for their disk, a third of the time is that.
if (process.env.TMPDIR === undefined && hasRoom()) process.env.TMPDIR = MEMORY

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => (/\/test\/(e2e|package)\//.test(moduleId) ? 0 : 1)
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    pool: 'forks',
    // One more than processors, because many tests wait for processes and timers that they have started.
    maxWorkers: Math.max(2, availableParallelism()) + 1,
    // The files that wait longest go first, so that no worker is left with one of them at the end.
    sequence: { sequencer: LongestFirst },
    // Compiled modules outlive the run; a changed file is compiled again.
    experimental: { fsModuleCache: true },
    // The files of a process share modules and idle databases: both take longer to load than most files to run.
    isolate: false,
    // For the programs that tests start from their .ts sources; worker threads see to it themselves (src/platform/threads). And
    // compiling the embedded database a second time, for speed, costs more than it saves in the minutes that a run takes.
    execArgv: ['--import', 'tsx', '--liftoff-only'],
    globalSetup: ['test/postgres.setup.ts'],
    setupFiles: ['test/after-each-file.ts'],
    // Only for what hangs: on a busy machine, starting a service or a browser alone may take a minute.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Ends before the test's own limit, to say what was awaited.
    expect: { poll: { timeout: 120_000, interval: 50 } },
  },
})
