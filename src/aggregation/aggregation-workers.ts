import { type ErrorCode, ServiceError } from '../domain/errors.ts'
import { JobThread } from '../platform/threads/job-thread.ts'
import { startThread } from '../platform/threads/start-thread.ts'
import type {
  AggregationJob,
  AggregationResult,
  Inspection,
  InspectionOptions,
  Reply,
  Request,
  Screened,
  ScreeningJob,
} from './job.ts'

/** A header read is soon garbage. With V8's 48 MB for what is young, those of 10,000 updates would take all of it, and no less time. */
const YOUNG_MB = 6

type WeightsThread = JobThread<Request, Reply>

/**
 * The file work of rounds, off the event loop: one thread looks at uploads, another aggregates, so that an upload
 * never waits for an aggregation. Both start when first needed and are kept. Errors arrive as ServiceError; what is
 * neither the caller's nor the files' fault (a full disk, a thread that died) as internal_error.
 */
export class AggregationWorkers {
  readonly #inspections: WeightsThread
  readonly #aggregations: WeightsThread

  constructor(options: { readonly maxHeapMb?: number } = {}) {
    // A hostile header that fills the heap ends the thread and its job, not the process.
    const resourceLimits = { maxOldGenerationSizeMb: options.maxHeapMb ?? 1024, maxYoungGenerationSizeMb: YOUNG_MB }
    const start = () => startThread(import.meta.url, 'aggregation.worker', { resourceLimits })
    this.#inspections = new JobThread(start)
    this.#aggregations = new JobThread(start)
  }

  /**
   * Reads a weight file, compares it with `expected` and looks for NaN and infinities. Without an expectation content that
   * is not weights passes as it is, with layout null and a warning.
   * Throws bad_request naming the first difference or fault.
   */
  inspect(path: string, options: InspectionOptions): Promise<Inspection> {
    return run(this.#inspections, { kind: 'inspect', path, options }) as Promise<Inspection>
  }

  /** Many weight files into one at `outputPath`. Throws conflict, naming the update, when they cannot be combined. */
  aggregate(job: AggregationJob): Promise<AggregationResult> {
    return run(this.#aggregations, { kind: 'aggregate', job }) as Promise<AggregationResult>
  }

  /** How each update looks beside the others, in the order of ids. One pass over the files; memory is bounded. */
  screen(job: ScreeningJob): Promise<readonly Screened[]> {
    return run(this.#aggregations, { kind: 'screen', job }) as Promise<readonly Screened[]>
  }

  async close(): Promise<void> {
    const reason = new ServiceError('internal_error', 'The service is shutting down.')
    await Promise.all([this.#inspections.close(reason), this.#aggregations.close(reason)])
  }
}

const run = async (thread: WeightsThread, request: Request): Promise<unknown> => {
  const reply = await thread.run(request).catch((error: Error) => {
    throw new ServiceError('internal_error', error.message)
  })
  if (reply.ok) return reply.value
  const { code, message, stack } = reply.error
  throw new ServiceError(code as ErrorCode, message, { cause: stack })
}
