import { randomInt } from 'node:crypto'
import { type Command, Option } from 'commander'
import { shellWord } from '../../domain/shell-word.ts'
import type { ChatRequest } from '../../inference/engines/engine.ts'
import { wrongUsage } from '../failure.ts'
import { jsonOption, numberFrom } from '../options.ts'
import { withoutControlCharacters } from '../output.ts'
import type { Session } from '../session.ts'
import { generateReply, incompleteNote } from './generate-reply.ts'
import { engineOption, loraOption, loraPaths, maxTokensOption, modelOrDefault } from './inference-options.ts'

interface RunOptions {
  readonly engine: string
  readonly maxTokens: number
  readonly temperature: number
  readonly json?: true
  readonly lora?: readonly string[]
}

const readAll = async (input: NodeJS.ReadableStream): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of input) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString('utf8')
}

const promptOf = async (given: string, { io }: Session): Promise<string> => {
  if (given !== '-') return given
  if (io.stdin === undefined) throw wrongUsage('There is no standard input to read the prompt from.')
  const text = (await readAll(io.stdin)).trimEnd()
  if (text === '') throw wrongUsage('The prompt on standard input is empty.')
  return text
}

/** Runs the model in this process, without a server or a key. */
const run = async (session: Session, model: string, prompt: string, options: RunOptions): Promise<void> => {
  const { io, out } = session
  const signal = io.signal ?? new AbortController().signal
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  const messages = [{ role: 'user', content: await promptOf(prompt, session) }] as const
  const engine = await openChosen(session, chosen, {
    slots: 1,
    cacheMegabytes: 0,
    lora: loraPaths(options.lora, session),
    log: () => undefined,
  })
  try {
    const request: ChatRequest = {
      messages,
      maxTokens: options.maxTokens,
      temperature: options.temperature,
      topP: 0.9,
      seed: randomInt(2 ** 32 - 1),
      stop: [],
      responseFormat: { type: 'text' },
    }
    let ended = true
    const show = (text: string): void => {
      ended = text.endsWith('\n')
      io.stdout.write(withoutControlCharacters(text))
    }
    const given = await generateReply(engine, request, signal, options.json ? () => undefined : show).finally(() => {
      if (!ended) io.stdout.write('\n')
    })
    const { text, promptTokens, result } = given
    if (options.json) {
      out.json({
        model: engine.model.name,
        engine: engine.name,
        text,
        finish_reason: result.reason,
        usage: {
          prompt_tokens: promptTokens,
          completion_tokens: result.completionTokens,
          total_tokens: promptTokens + result.completionTokens,
        },
      })
    } else {
      const note = incompleteNote(result)
      if (note !== null) out.note(note)
    }
  } finally {
    await engine.close()
  }
}

/** Enough for one conversation, so that earlier messages are not processed again. */
const CHAT_CACHE_MEGABYTES = 256

const streamChat = async (session: Session, model: string, options: RunOptions): Promise<void> => {
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  const engine = await openChosen(session, chosen, {
    slots: 1,
    cacheMegabytes: CHAT_CACHE_MEGABYTES,
    lora: loraPaths(options.lora, session),
    log: () => undefined,
  })
  try {
    const { chat } = await import('./chat.ts')
    await chat(engine, session, options)
  } finally {
    await engine.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[model]',
      'a model of this machine or of the catalog (name@version), a path, hf:org/model, or ollama:name (default: SERVICE_MODEL)',
    )
    .argument('[prompt]', 'the prompt; - reads it from standard input; if omitted on a terminal, svc starts a chat')
    .addOption(engineOption())
    .addOption(maxTokensOption(256))
    .addOption(
      new Option('--temperature <number>', '0 (always the most likely token) to 2')
        .argParser(numberFrom({ min: 0, max: 2, whole: false }))
        .default(0.7),
    )
    .addOption(loraOption())
    .addOption(jsonOption())
    .action(async (first: string | undefined, second: string | undefined, options: RunOptions) => {
      // If SERVICE_MODEL is set, a single argument is the prompt.
      const [model, prompt] =
        second === undefined && session.io.env.SERVICE_MODEL ? [undefined, first] : [first, second]
      const name = modelOrDefault(model, session)
      const isChat = !prompt && session.io.stdin?.isTTY === true && options.json !== true
      if (isChat) return streamChat(session, name, options)
      if (!prompt)
        throw wrongUsage('The prompt is missing.', `For example: svc run ${shellWord(name)} "What is a rollout?"`)
      await run(session, name, prompt, options)
    })
}
