import { endWithParent, sendMessage } from '../child/process-side.ts'
import { type Command, type EngineRequest, type EngineResponse, failureOf, type Message } from '../child/protocol.ts'
import { openRunner, type Runner } from './runner.ts'
import type { ModelFacts, Settings } from './settings.ts'

// The process that runs a model. It ends with the service that started it.

const send: (message: Message<ModelFacts>) => void = sendMessage

let runner: Runner | null = null
/** Pending requests. They run one after another, because the model uses all threads for each. */
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

const work = async (id: number, requested: EngineRequest): Promise<void> => {
  const ending = running.get(id)
  if (ending === undefined || runner === null) return
  const say = (response: EngineResponse): void => {
    if (!ending.signal.aborted) send({ type: 'step', events: [{ ...response, id }] })
  }
  try {
    await runner.work(requested, ending.signal, say)
  } catch (error) {
    say({ type: 'failed', failure: failureOf(error) })
  }
  running.delete(id)
  requests += 1
  send({ type: 'figures', figures: { requests_total: requests, requests_running: running.size } })
}

endWithParent()
process.on('message', (command: Command<Settings>) => {
  if (command.type === 'open') void open(command.settings)
  else if (command.type === 'cancel') {
    running.get(command.id)?.abort()
    running.delete(command.id)
  } else {
    running.set(command.id, new AbortController())
    last = last.then(() => work(command.id, command))
  }
})
