import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { anySignal } from '../../domain/any-signal.ts'
import type { ChatMessage, Engine } from '../../inference/engines/engine.ts'
import { InferenceError } from '../../inference/errors.ts'
import type { Session } from '../session.ts'
import { createChatInput, PROMPT } from './chat-input.ts'
import { generateReply, incompleteNote, replyPrinter } from './generate-reply.ts'

export interface ChatOptions {
  readonly maxTokens: number
  readonly temperature: number
}

/** The conversation's state, changed by commands and answers. */
interface Conversation {
  system: string | null
  messages: readonly ChatMessage[]
}

const HELP = `/system [text]  show or set the system message
/clear          begin a new conversation
/save <file>    write the conversation to a JSON file
/help           show this
/exit           quit (or Ctrl-D)
"""             begin and end a message of several lines; pasted lines are one message
Ctrl-C stops a reply.`

/** Has the terminal mark pasted text. */
const PASTE_MARKS = { on: '\x1b[?2004h', off: '\x1b[?2004l' }

const allOf = ({ system, messages }: Conversation): readonly ChatMessage[] =>
  system === null ? messages : [{ role: 'system', content: system }, ...messages]

/** Executes a slash command. Returns false if it ends the chat. */
const obey = async (
  line: string,
  conversation: Conversation,
  { io, out }: Session,
  model: string,
): Promise<boolean> => {
  const [, command = '', rest = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
  switch (command) {
    case 'exit':
    case 'quit':
    case 'bye':
      return false
    case 'clear':
      conversation.messages = []
      out.note('Began a new conversation.')
      return true
    case 'system':
      if (rest !== '') conversation.system = rest
      out.note(conversation.system === null ? 'There is no system message.' : `System message: ${conversation.system}`)
      return true
    case 'save': {
      if (rest === '') out.note('Give a file name: /save chat.json')
      else {
        const text = `${JSON.stringify({ model, messages: allOf(conversation) }, null, 2)}\n`
        await writeFile(resolve(io.cwd, rest), text, { flag: 'wx' }).then(
          () => out.note(`Saved ${conversation.messages.length} messages to ${rest}.`),
          (error: NodeJS.ErrnoException) =>
            out.note(error.code === 'EEXIST' ? `${rest} already exists.` : `It cannot be saved: ${error.message}`),
        )
      }
      return true
    }
    default:
      out.note(command === 'help' || command === '?' ? HELP : `There is no /${command}.\n${HELP}`)
      return true
  }
}

/** Streams an answer to the terminal and adds it to the conversation, even if it was stopped midway. */
const streamChat = async (
  engine: Engine,
  conversation: Conversation,
  { io, out }: Session,
  options: ChatOptions,
  stopped: AbortSignal,
): Promise<void> => {
  const signal = anySignal(io.signal, stopped)
  const request = { messages: allOf(conversation), maxTokens: options.maxTokens, temperature: options.temperature }
  let text = ''
  const keep = (): void => {
    conversation.messages = [...conversation.messages, { role: 'assistant', content: text }]
  }
  const { print } = replyPrinter(io)
  try {
    const { result } = await generateReply(engine, request, signal, (part) => {
      if (part.type === 'text') text += part.text
      print(part)
    })
    keep()
    const note = incompleteNote(result, options.maxTokens)
    if (note !== null) out.note(`\n${note}`)
  } catch (error) {
    io.signal.throwIfAborted()
    if (stopped.aborted && text !== '') keep()
    // Removes the question, so that asking again does not duplicate it.
    else conversation.messages = conversation.messages.slice(0, -1)
    if (stopped.aborted) return
    if (!(error instanceof InferenceError)) throw error
    out.note(
      error.code === 'context_length_exceeded' ? `${error.message} /clear begins a new conversation.` : error.message,
    )
  } finally {
    io.stdout.write('\n\n')
  }
}

/** Runs a chat with a model in this terminal, until /exit or the end of the input. */
export const chat = async (engine: Engine, session: Session, options: ChatOptions): Promise<void> => {
  const { io, out } = session
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      io.stdout.write(chunk.toString())
      done()
    },
  })
  const wide = Object.assign(output, { columns: io.stdout.columns ?? 80 })
  const lines = createInterface({ input: io.stdin!, output: wide, terminal: true, prompt: PROMPT })
  const conversation: Conversation = { system: null, messages: [] }
  let running: AbortController | null = null
  const { inputs, drop } = createChatInput(lines, io.stdin!)
  lines.on('SIGINT', () => {
    if (running !== null) return running.abort()
    drop()
    out.note('\n/exit or Ctrl-D quits.')
    lines.prompt()
  })
  lines.on('SIGCONT', () => {
    // Back after Ctrl-Z: readline has paused the input, and the shell has turned the marks off.
    if (io.stdout.isTTY) io.stdout.write(PASTE_MARKS.on)
    lines.resume()
  })
  let isOpen = true
  lines.on('close', () => {
    isOpen = false
  })
  const leave = (): void => lines.close()
  io.signal.addEventListener('abort', leave, { once: true })
  try {
    out.note(`Chat with ${engine.model.name}. /help shows commands, /exit quits.`)
    if (io.stdout.isTTY) io.stdout.write(PASTE_MARKS.on)
    lines.prompt()
    for await (const [{ text, isCommand }] of inputs) {
      if (isCommand) {
        if (!(await obey(text, conversation, session, engine.model.name))) break
      } else if (text !== '') {
        conversation.messages = [...conversation.messages, { role: 'user', content: text }]
        running = new AbortController()
        await streamChat(engine, conversation, session, options, running.signal)
        running = null
      }
      // Ctrl-D may have closed the input during the answer.
      if (isOpen) lines.prompt()
    }
  } finally {
    io.signal.removeEventListener('abort', leave)
    lines.close()
    if (io.stdout.isTTY) io.stdout.write(PASTE_MARKS.off)
  }
}
