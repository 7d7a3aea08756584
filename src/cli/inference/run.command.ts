import type { Command } from 'commander'
import { shellWord } from '../../domain/shell-word.ts'
import type { Engine } from '../../inference/engines/engine.ts'
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

/** Prints the reply to a prompt. */
const reply = async (engine: Engine, prompt: string, options: RunOptions, { io, out }: Session): Promise<void> => {
  const { maxTokens, temperature } = options
  const request = { messages: [{ role: 'user' as const, content: prompt }], maxTokens, temperature }
  let ended = true
  const show = (text: string): void => {
    ended = text.endsWith('\n')
    io.stdout.write(withoutControlCharacters(text))
  }
  const onText = options.json ? () => undefined : show
  const { text, promptTokens, result } = await generateReply(engine, request, io.signal, onText).finally(() => {
    if (!ended) io.stdout.write('\n')
  })
  if (options.json) {
    return out.json({
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
  }
  const note = incompleteNote(result)
  if (note !== null) out.note(note)
}

/** Enough for one conversation, so that earlier messages are not processed again. */
const CHAT_CACHE_MEGABYTES = 256

/** Runs the model in this process, without a server or a key: for one prompt, or, without one, for a chat. */
const run = async (session: Session, model: string, given: string | null, options: RunOptions): Promise<void> => {
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  const prompt = given && (await promptOf(given, session))
  const engine = await openChosen(session, chosen, {
    slots: 1,
    cacheMegabytes: prompt === null ? CHAT_CACHE_MEGABYTES : 0,
    lora: loraPaths(options.lora, session),
    log: () => undefined,
  })
  try {
    if (prompt === null) await (await import('./chat.ts')).chat(engine, session, options)
    else await reply(engine, prompt, options, session)
  } finally {
    await engine.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[model]',
      'a model on this machine or in the catalog (name@version), a path, hf:org/model, or ollama:name (default: SERVICE_MODEL)',
    )
    .argument('[prompt]', 'the prompt; - reads it from standard input; if omitted on a terminal, svc starts a chat')
    .addOption(engineOption())
    .addOption(maxTokensOption(256))
    .option(
      '--temperature <number>',
      '0 (always the most likely token) to 2',
      numberFrom({ min: 0, max: 2, whole: false }),
      0.7,
    )
    .addOption(loraOption())
    .addOption(jsonOption())
    .action(async (first: string | undefined, second: string | undefined, options: RunOptions) => {
      // If SERVICE_MODEL is set, a single argument is the prompt.
      const [model, prompt] =
        second === undefined && session.io.env.SERVICE_MODEL ? [undefined, first] : [first, second]
      const name = modelOrDefault(model, session)
      const isChat = !prompt && session.io.stdin?.isTTY === true && options.json !== true
      if (!prompt && !isChat)
        throw wrongUsage('The prompt is missing.', `For example: svc run ${shellWord(name)} "What is a rollout?"`)
      await run(session, name, prompt || null, options)
    })
}
