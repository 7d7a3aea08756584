import { InferenceError } from '../../errors.ts'
import type { Failure, Happening, News, Order } from './protocol.ts'
import { openRunner, type Runner } from './runner.ts'

// The process in which a model runs. It ends with the service that started it.

const send = (news: News): void => {
  if (process.connected) process.send?.(news)
}

const failureOf = (error: unknown): Failure =>
  error instanceof InferenceError
    ? { code: error.code, message: error.message, param: error.param }
    : { code: 'engine_failed', message: error instanceof Error ? error.message : String(error), param: null }

let runner: Runner | null = null

const open = async (order: Extract<Order, { type: 'open' }>): Promise<void> => {
  try {
    runner = await openRunner(order.settings, {
      happened: (happenings) => send({ type: 'step', happenings }),
      figures: (figures) => send({ type: 'figures', figures }),
    })
    send({ type: 'ready', facts: runner.facts })
  } catch (error) {
    send({ type: 'refused', failure: failureOf(error) })
  }
}

const answer = (id: number, work: (open: Runner) => Happening | null): void => {
  if (runner === null) return
  let happening: Happening | null
  try {
    happening = work(runner)
  } catch (error) {
    happening = { id, type: 'failed', failure: failureOf(error) }
  }
  if (happening !== null) send({ type: 'step', happenings: [happening] })
}

// An orderly exit would wait for the threads that compute.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Ctrl-C reaches the whole process group: the service decides when this process ends.
process.on('SIGINT', () => undefined)
process.on('message', (order: Order) => {
  switch (order.type) {
    case 'open':
      void open(order)
      break
    case 'chat':
      answer(order.id, (open) => {
        open.chat(order.id, order.request)
        return null
      })
      break
    case 'cancel':
      runner?.cancel(order.id)
      break
    case 'count':
      answer(order.id, (open) => ({ id: order.id, type: 'counted', tokens: open.countTokens(order.messages) }))
      break
  }
})
