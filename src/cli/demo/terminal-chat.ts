import { createInterface } from 'node:readline'
import { streamChat } from '../../inference/engines/proxied/openai-client.ts'
import { ChatServerError } from '../../inference/engines/proxied/server-errors.ts'
import { serverKey } from '../network/running-server.ts'
import { withoutControlCharacters } from '../output.ts'
import type { Session } from '../session.ts'

/** Short: small models follow few instructions, and every question includes it. */
export const SYSTEM_PROMPT = 'You are a helpful programming assistant. Put code in fenced blocks and be brief.'

interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

const PROMPT = '> '

/**
 * Runs a conversation in the terminal, one line at a time, until the input ends. `/new` begins a new one, `/exit` ends it.
 * @returns the number of lines
 */
export const chatInTerminal = async ({ io, out }: Session, url: string, model: string): Promise<number> => {
  const { stdin } = io
  if (stdin === undefined) return 0
  const begin: readonly Message[] = [{ role: 'system', content: SYSTEM_PROMPT }]
  let messages = begin
  let requested = 0

  const reply = async (question: string): Promise<void> => {
    messages = [...messages, { role: 'user', content: question }]
    let text = ''
    try {
      for await (const piece of streamChat(
        { baseUrl: `${url}/v1`, key: serverKey(io.env) },
        { model, messages },
        io.signal,
      )) {
        text += piece.text
        io.stdout.write(withoutControlCharacters(piece.text))
      }
      messages = [...messages, { role: 'assistant', content: text }]
    } catch (error) {
      if (io.signal.aborted) return
      // Removes the question, so that asking again does not duplicate it.
      messages = messages.slice(0, -1)
      out.note(error instanceof ChatServerError ? error.message : `The server stopped: ${(error as Error).message}`)
    } finally {
      io.stdout.write('\n\n')
    }
  }

  const prompt = (): void => void (stdin.isTTY && io.stdout.write(PROMPT))
  const lines = createInterface({ input: stdin, signal: io.signal })
  prompt()
  for await (const line of lines) {
    const question = line.trim()
    if (question === '/exit') break
    requested++
    if (question === '/new') messages = begin
    else if (question !== '') await reply(question)
    if (io.signal.aborted) break
    prompt()
  }
  return requested
}
