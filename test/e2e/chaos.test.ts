import { expect, it } from 'vitest'
import { runChaos } from '../chaos/run.ts'
import { freshPostgresUrl, hasPostgres } from '../databases.ts'

// The short form of `npm run chaos`, on the tests' own PostgreSQL server, which is not killed.

it.skipIf(!hasPostgres())(
  'loses nothing that was acknowledged although two processes are killed repeatedly',
  async () => {
    const output: string[] = []
    const result = await runChaos({
      seed: 15,
      processes: 2,
      agents: 5,
      kills: 3,
      minutes: 5,
      replays: 2,
      maxHoldMs: 1000,
      databaseUrl: await freshPostgresUrl(),
      log: (line) => output.push(line),
    })
    expect({ violations: result.violations, kills: result.kills }, output.join('\n')).toEqual({
      violations: [],
      kills: 3,
    })
  },
)
