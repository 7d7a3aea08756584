import { setImmediate as nextTurn } from 'node:timers/promises'
import { InferenceError } from '../../errors.ts'
import { readGgufHeader } from '../../models/gguf/header.ts'
import { type Command as CommandWith, type EngineEvent, failureOf, type Message } from '../child/protocol.ts'
import { type Embedder, openEmbedder } from './embedder.ts'
import { openRunner, type Runner } from './runner.ts'
import type { ModelFacts, Settings } from './settings.ts'

// The process that runs a model. It ends with the service that started it.

type Command = CommandWith<Settings>

const send = (message: Message<ModelFacts>): void => {
  if (process.connected) process.send?.(message)
}

let runner: Runner | null = null
let embedder: Embedder | null = null

const open = async (command: Extract<Command, { type: 'open' }>): Promise<void> => {
  try {
    const { settings } = command
    const header = await readGgufHeader(settings.path)
    if (header.embeds) embedder = await openEmbedder(settings, header)
    else
      runner = await openRunner(settings, header, {
        onEvents: (events) => send({ type: 'step', events }),
        figures: (figures) => send({ type: 'figures', figures }),
        warn: (message) => send({ type: 'warning', message }),
      })
    send({ type: 'ready', facts: (embedder ?? runner)!.facts })
  } catch (error) {
    send({ type: 'refused', failure: failureOf(error) })
  }
}

/** After a restart, the file may contain another kind of model. */
const changed = (kind: string): InferenceError =>
  new InferenceError('invalid_model', `The model's file was replaced, and is no longer ${kind}. Restart the server.`)

const output = (id: number, work: (open: Runner) => EngineEvent | null): void => {
  let event: EngineEvent | null
  try {
    if (runner === null) throw changed('a language model')
    event = work(runner)
  } catch (error) {
    event = { id, type: 'failed', failure: failureOf(error) }
  }
  if (event !== null) send({ type: 'step', events: [event] })
}

const chat = ({ id, request }: Extract<Command, { type: 'chat' }>): void =>
  output(id, (open) => {
    open.chat(id, request)
    return null
  })

/** Parsing a schema takes milliseconds. Between two of them, tokens of other chats are computed. */
const waiting = new Set<number>()
let last: Promise<void> = Promise.resolve()
const chatInTurn = (command: Extract<Command, { type: 'chat' }>): void => {
  waiting.add(command.id)
  last = last.then(async () => {
    await nextTurn()
    if (waiting.delete(command.id)) chat(command)
  })
}

const notHere = new InferenceError('unsupported', 'llama.cpp does not transcribe speech here.')

/** Requests that have not been canceled. */
const embedding = new Set<number>()
const embed = async ({ id, inputs }: Extract<Command, { type: 'embed' }>): Promise<void> => {
  embedding.add(id)
  let event: EngineEvent
  try {
    if (embedder === null) throw changed('an embedding model')
    event = { id, type: 'embedded', embeddings: await embedder.embed(inputs, () => !embedding.has(id)) }
  } catch (error) {
    event = { id, type: 'failed', failure: failureOf(error) }
  }
  embedding.delete(id)
  send({ type: 'step', events: [event] })
}

// A regular exit would wait for the compute threads.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Ctrl-C reaches the whole process group, but the service decides when this process ends.
process.on('SIGINT', () => undefined)
process.on('message', (command: Command) => {
  switch (command.type) {
    case 'open':
      void open(command)
      break
    case 'chat':
      if (command.request.responseFormat.type === 'json_schema' || command.request.toolUse) chatInTurn(command)
      else chat(command)
      break
    case 'cancel':
      if (!waiting.delete(command.id) && !embedding.delete(command.id)) runner?.cancel(command.id)
      break
    case 'count':
      output(command.id, (open) => ({
        id: command.id,
        type: 'counted',
        tokens: open.countTokens(command.messages, command.tools),
      }))
      break
    case 'embed':
      void embed(command)
      break
    case 'transcribe':
      send({ type: 'step', events: [{ id: command.id, type: 'failed', failure: failureOf(notHere) }] })
  }
})
