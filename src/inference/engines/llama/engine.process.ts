import { setImmediate as nextTurn } from 'node:timers/promises'
import { InferenceError } from '../../errors.ts'
import { readGgufHeader } from '../../models/gguf/header.ts'
import { endWithParent, sendMessage } from '../child/process-side.ts'
import { type Command as CommandWith, type EngineResponse, failureOf, type Message } from '../child/protocol.ts'
import { type Embedder, openEmbedder } from './embedder.ts'
import { openRunner, type Runner } from './runner.ts'
import type { ModelFacts, Settings } from './settings.ts'

// The process that runs a model. It ends with the service that started it.

type Command = CommandWith<Settings>

const send: (message: Message<ModelFacts>) => void = sendMessage

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

const languageModel = (): Runner => {
  if (runner === null) throw changed('a language model')
  return runner
}

/** Sends the only response to a request, if there is one, or its failure. */
const respond = async (id: number, work: () => Promise<EngineResponse | null>): Promise<void> => {
  const response = await work().catch((error: unknown) => ({ type: 'failed', failure: failureOf(error) }) as const)
  if (response !== null) send({ type: 'step', events: [{ ...response, id }] })
}

const chat = ({ id, request }: Extract<Command, { type: 'chat' }>): Promise<void> =>
  respond(id, async () => {
    languageModel().chat(id, request)
    return null
  })

/** Parsing a schema takes milliseconds. Between two of them, tokens of other chats are computed. */
const waiting = new Set<number>()
let last: Promise<void> = Promise.resolve()
const chatInTurn = (command: Extract<Command, { type: 'chat' }>): void => {
  waiting.add(command.id)
  last = last.then(async () => {
    await nextTurn()
    if (waiting.delete(command.id)) await chat(command)
  })
}

/** Requests that have not been canceled. */
const embedding = new Set<number>()
const embed = ({ id, inputs }: Extract<Command, { type: 'embed' }>): Promise<void> =>
  respond(id, async () => {
    embedding.add(id)
    try {
      if (embedder === null) throw changed('an embedding model')
      return { type: 'embedded', embeddings: await embedder.embed(inputs, () => !embedding.has(id)) }
    } finally {
      embedding.delete(id)
    }
  })

endWithParent()
process.on('message', (command: Command) => {
  switch (command.type) {
    case 'open':
      void open(command)
      break
    case 'chat':
      if (command.request.responseFormat.type === 'json_schema' || command.request.toolUse) chatInTurn(command)
      else void chat(command)
      break
    case 'cancel':
      if (!waiting.delete(command.id) && !embedding.delete(command.id)) runner?.cancel(command.id)
      break
    case 'count':
      void respond(command.id, async () => {
        return { type: 'counted', tokens: languageModel().countTokens(command.messages, command.tools) }
      })
      break
    case 'embed':
      void embed(command)
      break
    case 'transcribe':
      void respond(command.id, async () => {
        throw new InferenceError('unsupported', 'llama.cpp does not transcribe speech here.')
      })
  }
})
