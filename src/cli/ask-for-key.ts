import { createInterface } from 'node:readline/promises'
import type { Readable } from 'node:stream'
import { anySignal } from '../domain/any-signal.ts'
import { isWellFormedKey } from '../domain/api-key.ts'
import { Failure, wrongUsage } from './failure.ts'
import { Interrupted, type SessionIo } from './io.ts'

/**
 * Reads the key without leaving it in the shell's history: with hidden input on a terminal, otherwise one line from a pipe. Empty
 * if the input ends before.
 */
export const askForKey = async (io: SessionIo): Promise<string> => {
  const { stdin } = io
  if (stdin === undefined)
    throw wrongUsage(
      'There is no terminal on which svc could ask for the key.',
      'Pass the key as the value of the option.',
    )
  if (stdin.isTTY) {
    const { isCancel, password } = await import('@clack/prompts')
    // At the end of the input (Ctrl-D), the prompt stops reading and would never settle.
    const ended = new AbortController()
    let pending: NodeJS.Immediate | undefined
    const onPause = (): void => void (pending = setImmediate(() => ended.abort()))
    stdin.once('pause', onPause)
    const signal = anySignal(ended.signal, io.signal)
    const response = await password({ message: 'API key', input: stdin as Readable, signal })
    clearImmediate(pending)
    stdin.removeListener('pause', onPause)
    if (ended.signal.aborted) return ''
    if (isCancel(response)) throw new Interrupted('SIGINT')
    return response
  }
  const lines = createInterface({ input: stdin, signal: io.signal })
  for await (const line of lines) return line
  return ''
}

/** Detects typing errors by the key's checksum, without a request. */
export const requireKeyShape = (key: string): void => {
  if (isWellFormedKey(key)) return
  if (key === '')
    throw new Failure('No API key was given.', { advice: 'Enter it when svc asks, or write it to stdin.' })
  const fault = key.startsWith('sk_live_') ? 'its checksum is wrong' : 'it does not start with sk_live_'
  throw new Failure(`Not an API key: ${fault}.`, {
    advice: 'Copy the whole key: sk_live_ and 32 letters or digits.',
  })
}
