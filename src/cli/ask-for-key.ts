import { createInterface } from 'node:readline/promises'
import { isWellFormedKey } from '../domain/api-key.ts'
import { Failure, wrongUsage } from './failure.ts'
import { Interrupted, type Io } from './io.ts'

/** Reads the key without leaving it in the shell's history: with hidden input on a terminal, otherwise one line from a pipe. */
export const askForKey = async (io: Io): Promise<string> => {
  const { stdin } = io
  if (stdin === undefined)
    throw wrongUsage(
      'There is no terminal on which svc could ask for the key.',
      'Pass the key as the value of the option.',
    )
  if (stdin.isTTY) {
    const { isCancel, password } = await import('@clack/prompts')
    const response = await password({ message: 'API key', ...(io.signal && { signal: io.signal }) })
    if (isCancel(response)) throw new Interrupted('SIGINT')
    return response
  }
  const lines = createInterface({ input: stdin, ...(io.signal && { signal: io.signal }) })
  for await (const line of lines) return line
  return ''
}

/** Detects typing errors by the key's checksum, without a request. */
export const requireKeyShape = (key: string): void => {
  if (isWellFormedKey(key)) return
  const fault = key.startsWith('sk_live_') ? 'its checksum is wrong' : 'it does not start with sk_live_'
  throw new Failure(`Not an API key: ${fault}.`, {
    advice: 'Copy the whole key: sk_live_ and 32 letters or digits.',
  })
}
