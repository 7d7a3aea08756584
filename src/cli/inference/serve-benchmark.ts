import { benchmark } from '../../inference/benchmark/benchmark.ts'
import { sharedReport, thisHardware } from '../../inference/benchmark/shared-report.ts'
import type { ComposedServer } from '../../inference/compose.ts'
import { Failure } from '../failure.ts'
import { packageVersion } from '../package-version.ts'
import type { Session } from '../session.ts'
import { kindOf, rowsOf } from './benchmark.ts'
import { shareBenchmark, sharingOf } from './share-benchmark.ts'

const ITERATIONS = 5
const MAX_TOKENS = 50

/** Returns the address that --share sends to; null without --share. @throws Failure without a key, before a model is loaded */
export const shareTo = async (session: Session, share: true | undefined): Promise<string | null> => {
  if (!share) return null
  const sharing = await sharingOf(session, {})
  if ('to' in sharing) return sharing.to
  throw new Failure('--share needs an API key, and there is none.', {
    advice: 'Sign in with svc login, set SERVICE_API_KEY, or leave --share out.',
  })
}

/** Runs a short benchmark of the first model. Shares the result with `to`, unless it is null. */
export const benchmarkServed = async (
  session: Session,
  models: ComposedServer['models'],
  to: string | null,
): Promise<void> => {
  const { io, out } = session
  const { file } = models.first.chosen
  const { engine, release } = await models.available.open(file.name, io.signal)
  try {
    if (engine.chat === undefined) {
      out.note(`${file.name} cannot be benchmarked: it is not a chat model.`)
      return
    }
    out.note(`Measuring ${ITERATIONS} replies of up to ${MAX_TOKENS} tokens, after a warm-up.`)
    const result = await benchmark(engine, { iterations: ITERATIONS, maxTokens: MAX_TOKENS, signal: io.signal })
    out.table(['ENGINE', 'WHAT', 'P50', 'P90', 'P99', 'MEMORY'], rowsOf(result))
    if (to === null) return
    const kind = await kindOf(file, engine)
    const hardware = thisHardware()
    await shareBenchmark(session, to, sharedReport(result, { version: packageVersion(), hardware, model: kind }))
  } finally {
    release()
  }
}
