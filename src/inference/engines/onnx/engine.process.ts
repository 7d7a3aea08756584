import { failureOf } from '../child/failure.ts'
import type { Asked, News, Order, Said } from '../child/protocol.ts'
import { openRunner, type Runner } from './runner.ts'
import type { ModelFacts, Settings } from './settings.ts'

// The process in which a model runs. It ends with the service that started it.

const send = (news: News<ModelFacts>): void => {
  if (process.connected) process.send?.(news)
}

let runner: Runner | null = null
/** What was asked for and is not done. One after another: the model uses all threads for each. */
const running = new Map<number, AbortController>()
let last: Promise<void> = Promise.resolve()
let requests = 0

const open = async (settings: Settings): Promise<void> => {
  try {
    runner = await openRunner(settings)
    send({ type: 'ready', facts: runner.facts })
  } catch (error) {
    send({ type: 'refused', failure: failureOf(error) })
  }
}

const work = async (id: number, asked: Asked): Promise<void> => {
  const ending = running.get(id)
  if (ending === undefined || runner === null) return
  const say = (said: Said): void => {
    if (!ending.signal.aborted) send({ type: 'step', happenings: [{ ...said, id }] })
  }
  try {
    await runner.work(asked, ending.signal, say)
  } catch (error) {
    say({ type: 'failed', failure: failureOf(error) })
  }
  running.delete(id)
  requests += 1
  send({ type: 'figures', figures: { requests_total: requests, requests_running: running.size } })
}

// An orderly exit would wait for the threads that compute.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Ctrl-C reaches the whole process group: the service decides when this process ends.
process.on('SIGINT', () => undefined)
process.on('message', (order: Order<Settings>) => {
  if (order.type === 'open') void open(order.settings)
  else if (order.type === 'cancel') {
    running.get(order.id)?.abort()
    running.delete(order.id)
  } else {
    running.set(order.id, new AbortController())
    last = last.then(() => work(order.id, order))
  }
})
