import { createToolReader, type ReplyPart } from '../../structured-output/tool-reader.ts'
import { syntaxBeside, type ToolSyntax } from '../../structured-output/tool-syntax.ts'
import { type Asking, askChat, askOnce } from '../child/ask.ts'
import { superviseProcess } from '../child/supervisor.ts'
import {
  type ChatEvent,
  type ChatMessage,
  type ChatRequest,
  type Embeddings,
  type Engine,
  newCallId,
  type Tool,
} from '../engine.ts'
import { LLAMA_PROGRAM, type LlamaOptions, type ModelFacts, type Settings, settingsOf } from './settings.ts'

/**
 * Opens a GGUF model in a separate process, which is replaced when it dies.
 * @throws InferenceError invalid_model, engine_missing, out_of_memory
 */
export const openLlamaEngine = async (options: LlamaOptions): Promise<Engine> => {
  const settings = settingsOf(options)
  const supervisor = await superviseProcess<Settings, ModelFacts>({
    program: LLAMA_PROGRAM,
    settings,
    name: options.name,
    log: options.log,
  })
  const { facts } = supervisor
  const { toolSyntax } = facts
  return {
    name: 'llama.cpp',
    model: {
      name: options.name,
      path: options.path,
      parameters: facts.parameters,
      contextTokens: facts.contextTokens,
      memoryBytes: facts.memoryBytes,
    },
    slots: facts.slots,
    ...(toolSyntax === null ? embedding(supervisor) : chatting(supervisor, toolSyntax)),
    figures: () => supervisor.figures,
    close: supervisor.close,
  }
}

const chatting = (supervisor: Asking, syntax: ToolSyntax) => ({
  followsGrammars: true,
  tools: syntax,
  chat: (request: ChatRequest, signal: AbortSignal) => {
    const events = askChat(supervisor, withoutSchema(request), signal)
    return request.toolUse ? readCalls(events, syntaxBeside(request.responseFormat, syntax)) : events
  },
  countTokens: async (messages: readonly ChatMessage[], tools?: readonly Tool[]) =>
    (await askOnce(supervisor, { type: 'count', messages, ...(tools && { tools }) }, 'counted')).tokens,
})

const embedding = (supervisor: Asking) => ({
  embed: async (inputs: readonly string[], signal: AbortSignal): Promise<Embeddings> => {
    const { embeddings } = await askOnce(supervisor, { type: 'embed', inputs }, 'embedded', signal)
    // In JSON, float arrays become objects with an index for each number.
    return { ...embeddings, vectors: embeddings.vectors.map((vector) => Float32Array.from(Object.values(vector))) }
  },
})

/** Removes the schema, which is no longer needed and may be long. */
const withoutSchema = (request: ChatRequest): ChatRequest =>
  request.responseFormat.type === 'json_schema'
    ? { ...request, responseFormat: { ...request.responseFormat, schema: {} } }
    : request

/** Separates the calls in a reply from its text. */
async function* readCalls(events: AsyncIterable<ChatEvent>, syntax: ToolSyntax): AsyncGenerator<ChatEvent> {
  const reader = createToolReader(syntax)
  const withCallId = (part: ReplyPart): ChatEvent => (part.type === 'call' ? { ...part, callId: newCallId() } : part)
  for await (const event of events) {
    if (event.type === 'text') yield* reader.push(event.text).map(withCallId)
    else {
      if (event.type === 'finished') yield* reader.end().map(withCallId)
      yield event
    }
  }
}
