import { once } from 'node:events'
import { addAbortSignal, type Readable } from 'node:stream'
import type { Command } from 'commander'
import { shellWord } from '../../domain/shell-word.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import { wrongUsage } from '../failure.ts'
import { jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import { generateReply, incompleteNote, replyPrinter } from './generate-reply.ts'
import {
  contextOption,
  engineOption,
  loraOption,
  loraPaths,
  maxTokensOption,
  modelOrDefault,
} from './inference-options.ts'

interface RunOptions {
  readonly engine: string
  readonly maxTokens: number
  readonly temperature: number
  readonly json?: true
  readonly context?: number
  readonly lora?: readonly string[]
}

const readAll = async (input: NodeJS.ReadableStream): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of input) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString('utf8')
}

/** A program that leaves standard input open without a prompt would wait forever. */
const MAX_SILENCE_MS = 60_000

const arrival = async (input: NodeJS.ReadableStream): Promise<void> => {
  const silence = AbortSignal.timeout(MAX_SILENCE_MS)
  try {
    // An input that has ended already, such as a folder, is never readable.
    await Promise.race(['readable', 'end'].map((event) => once(input, event, { signal: silence })))
  } catch (error) {
    if (!silence.aborted) throw error
    throw wrongUsage(
      `No prompt arrived on standard input within ${MAX_SILENCE_MS / 1000} s.`,
      'Give it as an argument, or use - to wait longer.',
    )
  }
}

/**
 * Joins the words of a prompt; `-` stands for standard input, a paragraph of its own. Without words, standard input is the
 * prompt, if anything arrives there in time.
 */
const promptOf = async (words: readonly string[], { io }: Session): Promise<string> => {
  const isImplied = words.length === 0
  const at = isImplied ? 0 : words.indexOf('-')
  if (at < 0) return words.join(' ')
  if (io.stdin === undefined) throw wrongUsage('There is no standard input to read the prompt from.')
  const input = addAbortSignal(io.signal, io.stdin as Readable)
  const read = isImplied ? arrival(input).then(() => readAll(input)) : readAll(input)
  const text = (
    await read.catch((error: unknown) => Promise.reject(io.signal.aborted ? io.signal.reason : error))
  ).trimEnd()
  if (text === '') throw wrongUsage('The prompt on standard input is empty.')
  return [words.slice(0, at).join(' '), text, words.slice(at + 1).join(' ')].filter(Boolean).join('\n\n')
}

/** Prints the reply to a prompt. */
const reply = async (engine: Engine, prompt: string, options: RunOptions, { io, out }: Session): Promise<void> => {
  const { maxTokens, temperature } = options
  const request = { messages: [{ role: 'user' as const, content: prompt }], maxTokens, temperature }
  const { print, end } = options.json ? { print: () => undefined, end: () => undefined } : replyPrinter(io)
  const { text, reasoning, promptTokens, result } = await generateReply(engine, request, io.signal, print).finally(end)
  if (options.json) {
    return out.json({
      model: engine.model.name,
      engine: engine.name,
      text,
      ...(reasoning !== '' && { reasoning }),
      finish_reason: result.reason,
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: result.completionTokens,
        total_tokens: promptTokens + result.completionTokens,
      },
    })
  }
  const note = incompleteNote(result, maxTokens)
  if (note !== null) out.note(note)
}

/** Enough for one conversation, so that earlier messages are not processed again. */
const CHAT_CACHE_MEGABYTES = 256

/** Runs the model in this process, without a server or a key: for one prompt, or, without one, for a chat. */
const run = async (
  session: Session,
  model: string,
  words: readonly string[] | null,
  options: RunOptions,
): Promise<void> => {
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const { context } = options
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  if (context !== undefined && chosen.engine.name !== 'llama.cpp')
    throw wrongUsage(`${chosen.engine.name} does not support a custom context length.`, 'Leave out --context.')
  const prompt = words && (await promptOf(words, session))
  const engine = await openChosen(session, chosen, {
    slots: 1,
    cacheMegabytes: prompt === null ? CHAT_CACHE_MEGABYTES : 0,
    lora: loraPaths(options.lora, session),
    ...(context !== undefined && { contextTokens: context }),
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
    .argument(
      '[prompt...]',
      'the prompt, in which - stands for standard input; if omitted, it is standard input or, on a terminal, a chat',
    )
    .addOption(engineOption())
    .addOption(maxTokensOption(256))
    .option(
      '--temperature <number>',
      '0 (always the most likely token) to 2',
      numberFrom({ min: 0, max: 2, whole: false }),
      0.7,
    )
    .addOption(contextOption())
    .addOption(loraOption())
    .addOption(jsonOption())
    .action(async (first: string | undefined, rest: readonly string[], options: RunOptions) => {
      const { env, stdin } = session.io
      // If SERVICE_MODEL is set, a single argument is the prompt.
      const [model, given] =
        first !== undefined && rest.length === 0 && env.SERVICE_MODEL ? [undefined, [first]] : [first, rest]
      const name = modelOrDefault(model, session)
      const isPiped = given.length === 0 && stdin !== undefined && stdin.isTTY !== true
      const isEmpty = !isPiped && given.join('') === ''
      if (isEmpty && (stdin?.isTTY !== true || options.json === true))
        throw wrongUsage('The prompt is missing.', `For example: svc run ${shellWord(name)} "What is a rollout?"`)
      await run(session, name, isEmpty ? null : given, options)
    })
}
