import { shellWord } from '../../domain/shell-word.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { waitForNextPoll, withRetries } from '../polling.ts'
import type { Session } from '../session.ts'
import { isInProgress, type Plan, plansOf, progressOf } from './plans.ts'
import { countWords, failureOf, type ModelStatus, percentageWords } from './status.ts'

/** Each poll sends three requests, which leaves room within a key's limit of 100 requests per minute. */
const POLL_MS = 3000
const MAX_PLANS = 100

const lineOf = (plan: Plan): string => `${plan.kind} of ${plan.version}: ${plan.status} at ${percentageWords(plan)}`

const requireGoodEnd = (plan: Plan): void => {
  const failure = failureOf(plan)
  if (failure !== null) throw failure
}

/**
 * Prints a line for each change, until the newest plan stops advancing. Does not wait for an older plan, which may still be in
 * its last hour. Survives a restart of the service.
 * @throws Failure if the plan did not succeed
 */
export const watch = async (connection: Connection, first: ModelStatus, session: Session): Promise<void> => {
  const { name, model, plans: shown } = first
  const [newest] = shown
  if (newest === undefined) return
  if (!isInProgress(newest)) return requireGoodEnd(newest)
  const modelId = model?.id ?? null

  const poll = async () => {
    const plans = await plansOf(connection, model, name, MAX_PLANS)
    const followed = plans.find(({ id }) => id === newest.id)
    const counts = followed === undefined ? {} : (await progressOf(connection, followed, modelId)).counts
    return { plans, followed, counts }
  }
  const lastLines = new Map(shown.map((plan) => [plan.id, lineOf(plan)]))
  let shownCounts = countWords(newest.counts)
  const continuation = `The ${newest.kind} continues. Watch it with: svc status ${shellWord(name)} --watch`
  for (;;) {
    await waitForNextPoll(session, POLL_MS, continuation)
    const { plans, followed, counts } = await withRetries(session, poll, continuation)
    const time = session.now().toISOString().slice(11, 19)
    for (const plan of plans) {
      const isFollowed = plan.id === newest.id
      if (lastLines.get(plan.id) === lineOf(plan) && (!isFollowed || shownCounts === countWords(counts))) continue
      // Skips plans that had ended before the watch began.
      const isNews = lastLines.has(plan.id) || isInProgress(plan)
      lastLines.set(plan.id, lineOf(plan))
      if (isFollowed) shownCounts = countWords(counts)
      if (isNews) session.out.line(`${time}  ${lineOf(plan)}${isFollowed ? `; devices: ${shownCounts}` : ''}`)
    }
    if (followed === undefined) throw new Failure(`The ${newest.kind} of version ${newest.version} was deleted.`)
    if (!isInProgress(followed)) return requireGoodEnd(followed)
  }
}
