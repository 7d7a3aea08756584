import { type ErrorCode, ServiceError } from '../domain/errors.ts'
import { JobThread } from '../platform/threads/job-thread.ts'
import { startThread } from '../platform/threads/start-thread.ts'
import type { SumTotals } from '../secure-aggregation/fixed-point.ts'
import type {
  AggregationJob,
  AggregationResult,
  Inspection,
  InspectionOptions,
  Reply,
  Request,
  Screened,
  ScreeningJob,
  UnmaskingJob,
} from './aggregation-messages.ts'

/** Parsed headers soon become garbage. Those of 10,000 updates would fill V8's default young generation of 48 MB, no faster. */
const YOUNG_MB = 6

type WeightsThread = JobThread<Request, Reply>

/**
 * Runs the file work of rounds off the event loop: one thread inspects uploads, another aggregates, so that an upload never
 * waits for an aggregation. Both start on first use and are kept. Errors arrive as ServiceError; those caused by neither the
 * caller nor the files (a full disk, a dead thread) are internal_error.
 */
export class AggregationWorkers {
  readonly #inspections: WeightsThread
  readonly #aggregations: WeightsThread

  constructor(options: { readonly maxHeapMb?: number } = {}) {
    // A malicious header that fills the heap kills the thread and its job, not the process.
    const resourceLimits = { maxOldGenerationSizeMb: options.maxHeapMb ?? 1024, maxYoungGenerationSizeMb: YOUNG_MB }
    const start = () => startThread(import.meta.url, 'aggregation.worker', { resourceLimits })
    this.#inspections = new JobThread(start)
    this.#aggregations = new JobThread(start)
  }

  /**
   * Reads a weight file, compares it with `expected`, and checks for NaN and infinities. If `expected` is null, content that
   * is not weights is accepted with layout null and a warning. Throws bad_request naming the first difference or defect.
   */
  inspect(path: string, options: InspectionOptions): Promise<Inspection> {
    return run(this.#inspections, { kind: 'inspect', path, options }) as Promise<Inspection>
  }

  /** Explains why a file cannot be aggregated; null if it can be, or if it is damaged. */
  whyOpaque(path: string): Promise<string | null> {
    return run(this.#inspections, { kind: 'why-opaque', path }) as Promise<string | null>
  }

  /** Aggregates weight files into one at `outputPath`. Throws conflict naming the update that cannot be combined. */
  aggregate(job: AggregationJob): Promise<AggregationResult> {
    return run(this.#aggregations, { kind: 'aggregate', job }) as Promise<AggregationResult>
  }

  /** Compares each update with the others, in the order of IDs. One pass over the files; memory is bounded. */
  screen(job: ScreeningJob): Promise<readonly Screened[]> {
    return run(this.#aggregations, { kind: 'screen', job }) as Promise<readonly Screened[]>
  }

  /** Replaces masked updates by their mean. Throws conflict naming a device whose shares are wrong. */
  unmask(job: UnmaskingJob): Promise<SumTotals> {
    return run(this.#aggregations, { kind: 'unmask', job }) as Promise<SumTotals>
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
