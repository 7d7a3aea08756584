// `npm run chaos -- --seed 7 --kills 60 --minutes 10`: see docs/operations.md.
import { parseArgs } from 'node:util'
import { runChaos } from './run.ts'
import { createSoak } from './soak.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    kills: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    processes: { type: 'string', default: '3' },
    agents: { type: 'string', default: '100' },
    soak: { type: 'boolean', default: false },
  },
})

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`ended by ${name}`)))
/** So that a run ended early has reported its progress. */
const TELL_EVERY_MS = 10 * 60_000
let violations = 0
let kills = 0
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed++) {
  const soak = createSoak()
  const began = performance.now()
  let reported = began
  const result = await runChaos({
    seed,
    processes: Number(values.processes),
    agents: Number(values.agents),
    kills: Number(values.kills ?? (values.soak ? Number.POSITIVE_INFINITY : 60)),
    minutes: Number(values.minutes),
    replays: 10,
    isQuiet: values.soak,
    signal: stop.signal,
    log: (line) => console.log(line),
    onTick: (installation) => {
      soak.measure(installation)
      if (!values.soak || performance.now() - reported < TELL_EVERY_MS) return
      reported = performance.now()
      for (const line of soak.report()) console.log(line)
    },
  })
  const list = (counts: ReadonlyMap<string, number>): string =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, times]) => `${what} ${times}`)
      .join(', ')
  console.log(
    `seed ${seed}: ${result.kills} kills, ${result.violations.length} violations, ${result.exits} other exits`,
  )
  console.log(`  faults: ${list(result.faults)}`)
  console.log(`  acknowledged: ${list(result.counts)}`)
  console.log(`  took ${Math.round((performance.now() - began) / 1000)} s`)
  for (const line of soak.report()) console.log(`  ${line}`)
  if (result.violations.length > 0) console.log(`  again: npm run chaos -- --seed ${seed}`)
  violations += result.violations.length
  kills += result.kills
}
console.log(`${kills} kills, ${violations} violations`)
process.exit(violations === 0 ? 0 : 1)
