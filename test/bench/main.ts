// `npm run bench` runs all benchmarks one after another; `npm run bench -- heartbeats transfers` runs only those.
import { benchAggregation } from './aggregation.ts'
import { benchArtifactDownload } from './artifact-download.ts'
import { benchAssignments } from './assignments.ts'
import { benchByzantine } from './byzantine.ts'
import { benchCompression } from './compression.ts'
import { benchDashboard } from './dashboard.ts'
import { benchFedproxSynthetic } from './fedprox-synthetic.ts'
import { benchFleetSearch } from './fleet-search.ts'
import { benchFleetSize } from './fleet-size.ts'
import { benchHeartbeats } from './heartbeats.ts'
import { benchIdle } from './idle.ts'
import { benchInference } from './inference.ts'
import { benchManyUpdates } from './many-updates.ts'
import { benchMove } from './move.ts'
import { benchRobustAggregation } from './robust-aggregation.ts'
import { benchRolloutFleet } from './rollout-fleet.ts'
import { benchRouting } from './routing.ts'
import { benchScale } from './scale.ts'
import { benchSchemas } from './schemas.ts'
import { benchSecureAggregation } from './secure-aggregation.ts'
import { benchSizing } from './sizing.ts'
import { benchSpeculation } from './speculation.ts'
import { benchStaging } from './staging.ts'
import { benchStartup } from './startup.ts'
import { benchTrainingJob } from './training-job.ts'
import { benchTransfers } from './transfers.ts'

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  idle: benchIdle,
  heartbeats: benchHeartbeats,
  aggregation: benchAggregation,
  'robust-aggregation': benchRobustAggregation,
  transfers: benchTransfers,
  sizing: benchSizing,
  'fleet-size': benchFleetSize,
  'fleet-search': benchFleetSearch,
  scale: benchScale,
  dashboard: benchDashboard,
  assignments: benchAssignments,
  'rollout-fleet': benchRolloutFleet,
  'many-updates': benchManyUpdates,
  staging: benchStaging,
  move: benchMove,
  'artifact-download': benchArtifactDownload,
  startup: benchStartup,
  inference: benchInference,
  speculation: benchSpeculation,
  routing: benchRouting,
  schemas: benchSchemas,
  compression: benchCompression,
  'training-job': benchTrainingJob,
  'fedprox-synthetic': benchFedproxSynthetic,
  byzantine: benchByzantine,
  'secure-aggregation': benchSecureAggregation,
}

const named = process.argv.slice(2)
const unknown = named.find((name) => !Object.hasOwn(BENCHMARKS, name))
if (unknown !== undefined) {
  console.error(`There is no benchmark '${unknown}'. Known: ${Object.keys(BENCHMARKS).join(', ')}.`)
  process.exit(2)
}
for (const [name, bench] of Object.entries(BENCHMARKS)) {
  if (named.length > 0 && !named.includes(name)) continue
  console.log(`\n${name}`)
  const started = performance.now()
  await bench()
  console.log(`(took ${Math.round((performance.now() - started) / 1000)} s)`)
}
