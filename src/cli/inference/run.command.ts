import { randomInt } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { ChatRequest, Engine, Finished } from '../../inference/engines/engine.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { jsonOption } from '../options.ts'
import { harmless } from '../output.ts'
import type { Session } from '../session.ts'
import { engineOption, maxTokensOption, modelOrDefault, numberFrom } from './inference-options.ts'

interface RunOptions {
  readonly engine: string
  readonly maxTokens: number
  readonly temperature: number
  readonly json?: true
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

interface Answer {
  readonly text: string
  readonly promptTokens: number
  readonly result: Finished
}

const answer = async (
  engine: Engine,
  request: ChatRequest,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<Answer> => {
  if (engine.chat === undefined) {
    throw new Failure(`The model '${engine.model.name}' does not chat.`, {
      advice: 'Embeddings: svc embed. Speech: svc transcribe.',
    })
  }
  let text = ''
  let promptTokens = 0
  for await (const event of engine.chat(request, signal)) {
    if (event.type === 'started') promptTokens = event.promptTokens
    else if (event.type === 'text') {
      text += event.text
      onText(event.text)
    } else if (event.type === 'finished') {
      return { text, promptTokens: event.result.prompt?.tokens ?? promptTokens, result: event.result }
    }
  }
  throw new Failure('The engine ended without a reply.')
}

/** Runs the model in this process: nothing has to be started before, and no key is needed. */
const run = async (session: Session, model: string, prompt: string, options: RunOptions): Promise<void> => {
  const { io, out } = session
  const signal = io.signal ?? new AbortController().signal
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  const messages = [{ role: 'user', content: await promptOf(prompt, session) }] as const
  const engine = await openChosen(session, chosen, { slots: 1, cacheMegabytes: 0, log: () => undefined })
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
      io.stdout.write(harmless(text))
    }
    const given = await answer(engine, request, signal, options.json ? () => undefined : show).finally(() => {
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
    } else if (result.reason === 'length') {
      out.note(`The reply was cut off after ${result.completionTokens} tokens. Raise the limit with --max-tokens.`)
    }
  } finally {
    await engine.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('[model]', 'name of a model, name:variant, or a path (default: SERVICE_MODEL)')
    .argument('[prompt]', 'the prompt; - reads it from standard input')
    .addOption(engineOption())
    .addOption(maxTokensOption(256))
    .addOption(
      new Option('--temperature <number>', '0 (always the most likely token) to 2')
        .argParser(numberFrom({ min: 0, max: 2, whole: false }))
        .default(0.7),
    )
    .addOption(jsonOption())
    .action(async (first: string | undefined, second: string | undefined, options: RunOptions) => {
      // One word alone is the prompt for the model that SERVICE_MODEL names.
      const [model, prompt] =
        second === undefined && session.io.env.SERVICE_MODEL ? [undefined, first] : [first, second]
      const name = modelOrDefault(model, session)
      if (!prompt) throw wrongUsage('A prompt is needed.', `For example: svc run ${name} "What is a rollout?"`)
      await run(session, name, prompt, options)
    })
}
