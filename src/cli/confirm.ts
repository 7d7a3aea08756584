import { createInterface } from 'node:readline/promises'
import { Failure, wrongUsage } from './failure.ts'
import type { SessionIo } from './io.ts'

/**
 * Asks the user at the terminal for confirmation; only y and yes confirm. The question goes to stderr: stdout may be piped.
 * @throws Failure if the answer is no; wrong usage if stdin is not a terminal
 */
export const confirm = async (io: SessionIo, what: string): Promise<void> => {
  const { stdin } = io
  if (stdin?.isTTY !== true) {
    throw wrongUsage(
      `${what} needs a confirmation, and there is no terminal on which svc could ask for it.`,
      'Confirm it with --yes.',
    )
  }
  io.stderr.write(`${what}. Continue? [y/N] `)
  const lines = createInterface({ input: stdin, signal: io.signal })
  for await (const line of lines) {
    if (/^y(es)?$/i.test(line.trim())) return
    break
  }
  throw new Failure('Nothing was changed.')
}
