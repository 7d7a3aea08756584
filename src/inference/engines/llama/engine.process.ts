import { InferenceError } from '../../errors.ts'
import type { Command, EngineEvent, Failure, Message } from './protocol.ts'
import { openRunner, type Runner } from './runner.ts'

// The process in which a model runs. It ends with the service that started it.

const send = (message: Message): void => {
  if (process.connected) process.send?.(message)
}

const failureOf = (error: unknown): Failure =>
  error instanceof InferenceError
    ? { code: error.code, message: error.message, param: error.param }
    : { code: 'engine_failed', message: error instanceof Error ? error.message : String(error), param: null }

let runner: Runner | null = null

const open = async (command: Extract<Command, { type: 'open' }>): Promise<void> => {
  try {
    runner = await openRunner(command.settings, {
      onEvents: (events) => send({ type: 'step', events }),
      figures: (figures) => send({ type: 'figures', figures }),
    })
    send({ type: 'ready', facts: runner.facts })
  } catch (error) {
    send({ type: 'refused', failure: failureOf(error) })
  }
}

const answer = (id: number, work: (open: Runner) => EngineEvent | null): void => {
  if (runner === null) return
  let event: EngineEvent | null
  try {
    event = work(runner)
  } catch (error) {
    event = { id, type: 'failed', failure: failureOf(error) }
  }
  if (event !== null) send({ type: 'step', events: [event] })
}

// An orderly exit would wait for the threads that compute.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Ctrl-C reaches the whole process group: the service decides when this process ends.
process.on('SIGINT', () => undefined)
process.on('message', (command: Command) => {
  switch (command.type) {
    case 'open':
      void open(command)
      break
    case 'chat':
      answer(command.id, (open) => {
        open.chat(command.id, command.request)
        return null
      })
      break
    case 'cancel':
      runner?.cancel(command.id)
      break
    case 'count':
      answer(command.id, (open) => ({ id: command.id, type: 'counted', tokens: open.countTokens(command.messages) }))
      break
  }
})
