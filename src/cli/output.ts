import type { Io, TextSink } from './io.ts'
import { layOut, type TableLayout } from './table.ts'

export type Cells = readonly (readonly (string | null)[])[]

/** Prints data to stdout and everything about it to stderr, so that stdout can be piped. */
export interface Output {
  /** A line of data. */
  line(text: string): void
  /** Indented JSON. */
  json(value: unknown): void
  /** Names before values, aligned; null values are shown as a dash. */
  fields(rows: readonly (readonly [name: string, value: string | null])[]): void
  /** On a terminal it is as wide as that. */
  table(header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): void
  /** A table that goes through the pager where it is longer than the terminal. */
  list(header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): Promise<void>
  /** A line about what is going on. */
  note(text: string): void
  /** What the service says of a request that it accepted all the same. */
  warn(text: string): void
}

/** A key is printed where it was made and nowhere else, however it got into a message. */
export const withoutKeys = (text: string): string => text.replace(/sk_live_[0-9A-Za-z]+/g, 'sk_live_…')

/**
 * Control characters (but line breaks and tabs), and those that turn the direction in which text is shown. The marks that Arabic
 * and Hebrew texts have beside signs turn none.
 */
const STEERING = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/** Text from elsewhere must not steer the terminal, nor look like another: such characters become a mark. */
export const harmless = (text: string): string => text.replace(STEERING, '\u{fffd}')

/** In JSON they are escaped, which changes nothing of what it says. */
const harmlessJson = (json: string): string =>
  json.replace(STEERING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

const cell = (value: string | null): string => harmless(value ?? '-').replace(/\s+/g, ' ')

const usesColour = (sink: TextSink, env: Io['env']): boolean =>
  sink.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

export const createOutput = ({ stdout, stderr, env, pager }: Io): Output => {
  const bold = (text: string): string => (usesColour(stdout, env) ? `\u001b[1m${text}\u001b[22m` : text)
  const line = (text: string): void => void stdout.write(`${text}\n`)
  const tableOf = (header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): string[] => {
    const width = stdout.isTTY === true ? (stdout.columns ?? null) : null
    const [head, ...body] = layOut([header, ...rows.map((row) => row.map(cell))], { ...layout, width })
    return [bold(head!), ...body]
  }
  const note = (text: string): void => void stderr.write(`${withoutKeys(harmless(text))}\n`)
  return {
    line: (text) => line(harmless(text)),
    json: (value) => line(harmlessJson(JSON.stringify(value, null, 2))),
    fields: (rows) =>
      layOut(
        rows.map(([name, value]) => [`${name}:`, cell(value)]),
        { width: null },
      ).forEach(line),
    table: (header, rows, layout) => tableOf(header, rows, layout).forEach(line),
    async list(header, rows, layout) {
      const lines = tableOf(header, rows, layout)
      const isLong = stdout.isTTY === true && lines.length >= (stdout.rows ?? Number.POSITIVE_INFINITY)
      if (isLong && pager !== undefined && (await pager(`${lines.join('\n')}\n`))) return
      lines.forEach(line)
    },
    note,
    warn: (text) => note(`Warning: ${text}`),
  }
}
