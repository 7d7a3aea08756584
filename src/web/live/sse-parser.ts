/** An event of a stream (HTML standard, section 9.2.6): `id`, `event`, and `data` lines, ended by an empty line. */
export interface StreamEvent {
  /** The last id that the stream has sent, possibly with an earlier event. */
  readonly id: string
  readonly type: string
  readonly data: string
}

export interface Parser {
  readonly rest: string
  readonly lastId: string
  readonly type: string
  readonly data: readonly string[]
}

export const newParser = (lastId: string): Parser => ({ rest: '', lastId, type: '', data: [] })

interface Parsed {
  readonly parser: Parser
  readonly events: readonly StreamEvent[]
}

const takeLine = (parser: Parser, line: string, events: StreamEvent[]): Parser => {
  if (line === '') {
    const { lastId, type, data } = parser
    if (data.length > 0) events.push({ id: lastId, type: type || 'message', data: data.join('\n') })
    return { ...parser, type: '', data: [] }
  }
  const colon = line.indexOf(':')
  const name = colon === -1 ? line : line.slice(0, colon)
  const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'event') return { ...parser, type: value }
  if (name === 'data') return { ...parser, data: [...parser.data, value] }
  // Ignores ids with a null character, unknown fields, and comments (with an empty name), which are used for pings.
  if (name === 'id' && !value.includes('\0')) return { ...parser, lastId: value }
  return parser
}

/** Returns the events completed by the next chunk. A chunk may end anywhere, even between `\r` and `\n`. */
export const parseChunk = (before: Parser, chunk: string): Parsed => {
  const text = before.rest + chunk
  const events: StreamEvent[] = []
  let parser = before
  let start = 0
  for (const match of text.matchAll(/\r\n|\n|\r/g)) {
    if (match[0] === '\r' && match.index === text.length - 1) break
    parser = takeLine(parser, text.slice(start, match.index), events)
    start = match.index + match[0].length
  }
  return { parser: { ...parser, rest: text.slice(start) }, events }
}
