import { ApiError } from '../../client/client.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { waitForNextPoll } from '../poll-delay.ts'
import type { Session } from '../session.ts'
import { countsOf, isInProgress, type Plan, plansOf } from './plans.ts'
import { countWords, type ModelStatus, reachWords, troubleOf } from './status.ts'

/** Three requests each time: within the hundred a minute that a key has, with room for others. */
const LOOK_EVERY_MS = 3000
const MAX_FAILED_LOOKS = 20

const lineOf = (plan: Plan): string => `${plan.kind} of ${plan.version}: ${plan.status} at ${reachWords(plan)}`

/** The service is away or busy, which may pass. */
const mayPass = (error: unknown): error is Failure =>
  error instanceof Failure && (!(error.cause instanceof ApiError) || error.cause.code === 'rate_limited')

const requireGoodEnd = (plan: Plan): void => {
  const trouble = troubleOf(plan)
  if (trouble !== null) throw trouble
}

/**
 * A line for each change, until the newest plan moves no more by itself: an older one may still be counting its last hour
 * under it. Outlives a restart of the service.
 * @throws Failure when that is no good end
 */
export const watch = async (connection: Connection, first: ModelStatus, session: Session): Promise<void> => {
  const { name, model, plans: shown } = first
  const [newest] = shown
  if (newest === undefined) return
  if (!isInProgress(newest)) return requireGoodEnd(newest)
  const modelId = model?.id ?? null

  const look = async () => {
    const plans = await plansOf(connection, model, name)
    const followed = plans.find(({ id }) => id === newest.id)
    return { plans, followed, counts: followed === undefined ? {} : await countsOf(connection, followed, modelId) }
  }
  const lastLines = new Map(shown.map((plan) => [plan.id, lineOf(plan)]))
  let saidCounts = countWords(newest.counts)
  let failedLooks = 0
  for (;;) {
    await waitForNextPoll(
      session,
      LOOK_EVERY_MS,
      `The ${newest.kind} continues. Watch it with: svc status ${name} --watch`,
    )
    let seen: Awaited<ReturnType<typeof look>>
    try {
      seen = await look()
      failedLooks = 0
    } catch (error) {
      if (!mayPass(error) || ++failedLooks === MAX_FAILED_LOOKS) throw error
      if (failedLooks === 1) session.out.note(`${error.message} Still watching.`)
      continue
    }
    const { plans, followed, counts } = seen
    const time = session.now().toISOString().slice(11, 19)
    for (const plan of plans) {
      const isFollowed = plan.id === newest.id
      if (lastLines.get(plan.id) === lineOf(plan) && (!isFollowed || saidCounts === countWords(counts))) continue
      // What ended before the watch began is no news.
      const isNews = lastLines.has(plan.id) || isInProgress(plan)
      lastLines.set(plan.id, lineOf(plan))
      if (isFollowed) saidCounts = countWords(counts)
      if (isNews) session.out.line(`${time}  ${lineOf(plan)}${isFollowed ? `; devices: ${saidCounts}` : ''}`)
    }
    if (followed === undefined) return
    if (!isInProgress(followed)) return requireGoodEnd(followed)
  }
}
