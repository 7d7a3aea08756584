import { type AggregationJob, AggregationWorkers, strategySettings } from 'tributary/aggregation'

/** Writes a file with the coordinate-wise median of these files, computed on a worker thread. */
export const medianOf = async (paths: readonly string[], outputPath: string): Promise<void> => {
  const job: AggregationJob = {
    strategy: strategySettings('fedmedian'),
    globalPath: null,
    updates: paths.map((path, index) => ({ id: `device-${index}`, path, numSamples: 1 })),
    statePath: null,
    stateOutputPath: null,
    controlOutputPath: null,
    population: null,
    privacy: null,
    outputPath,
  }
  const workers = new AggregationWorkers()
  try {
    await workers.aggregate(job)
  } finally {
    await workers.close()
  }
}
