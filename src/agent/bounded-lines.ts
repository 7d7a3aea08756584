import type { Readable } from 'node:stream'

/** Calls `onLine` with each line as it arrives, without what exceeds `maxLength` characters. */
export const readLines = (stream: Readable, maxLength: number, onLine: (line: string) => void): void => {
  let line = ''
  let hasBegun = false
  let endedWithReturn = false
  const end = (): void => {
    const whole = line
    line = ''
    hasBegun = false
    onLine(whole)
  }
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    // A \r\n may be split between two chunks.
    const rest = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text
    endedWithReturn = text.endsWith('\r')
    const parts = rest.split(/\r\n|\n|\r/)
    for (const [index, part] of parts.entries()) {
      line += part.slice(0, maxLength - line.length)
      hasBegun ||= part !== ''
      if (index < parts.length - 1) end()
    }
  })
  stream.once('end', () => hasBegun && end())
}
