import type { AggregationJob, AggregationResult, Inspection, InspectionOptions, Screened, ScreeningJob } from './job.ts'
import { JobThread } from './job-thread.ts'

/**
 * The file work of rounds, off the event loop: one thread looks at uploads, another aggregates, so that an upload
 * never waits for an aggregation. Both start when first needed and are kept. Errors arrive as ServiceError; what is
 * neither the caller's nor the files' fault (a full disk, a thread that died) as internal_error.
 */
export class AggregationWorkers {
  readonly #inspections: JobThread
  readonly #aggregations: JobThread

  constructor(options: { readonly maxHeapMb?: number } = {}) {
    this.#inspections = new JobThread(options.maxHeapMb ?? 1024)
    this.#aggregations = new JobThread(options.maxHeapMb ?? 1024)
  }

  /**
   * Reads a weight file, compares it with `expected` and looks for NaN and infinities. Without an expectation content that
   * is not weights passes as it is, with layout null and a warning.
   * Throws bad_request naming the first difference or fault.
   */
  inspect(path: string, options: InspectionOptions): Promise<Inspection> {
    return this.#inspections.run({ kind: 'inspect', path, options }) as Promise<Inspection>
  }

  /** Many weight files into one at `outputPath`. Throws conflict, naming the update, when they cannot be combined. */
  aggregate(job: AggregationJob): Promise<AggregationResult> {
    return this.#aggregations.run({ kind: 'aggregate', job }) as Promise<AggregationResult>
  }

  /** How each update looks beside the others, in the order of ids. One pass over the files; memory is bounded. */
  screen(job: ScreeningJob): Promise<readonly Screened[]> {
    return this.#aggregations.run({ kind: 'screen', job }) as Promise<readonly Screened[]>
  }

  async close(): Promise<void> {
    await Promise.all([this.#inspections.close(), this.#aggregations.close()])
  }
}
