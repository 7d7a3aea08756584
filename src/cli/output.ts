import type { Io, TextSink } from './io.ts'
import { layOut, type TableLayout } from './table.ts'

export type Field = readonly [name: string, value: string | null]
export type Cells = readonly (readonly (string | null)[])[]

/** Prints data to stdout and all other messages to stderr, so that stdout can be piped. */
export interface Output {
  /** Prints a line of data. */
  line(text: string): void
  /** Prints indented JSON. */
  json(value: unknown): void
  /** Prints names and values in aligned columns; null is shown as a dash, and false is left out. */
  fields(rows: readonly (Field | false)[]): void
  /** Prints a table that fits the terminal's width. */
  table(header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): void
  /** Prints a table, through the pager if it is longer than the terminal. */
  list(header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): Promise<void>
  /** Prints a status line. */
  note(text: string): void
  /** Prints the service's warning about a request that it accepted anyway. */
  warn(text: string): void
}

/** Hides keys in messages: a key is printed only by the command that creates it. */
export const withoutKeys = (text: string): string => text.replace(/sk_live_[0-9A-Za-z]+/g, 'sk_live_…')

/**
 * Control characters except line breaks and tabs, and characters that override the text direction. The direction marks in
 * Arabic and Hebrew texts are allowed: they override nothing.
 */
const CONTROL_CHARACTERS = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/** Replaces characters by which text from elsewhere could control the terminal or disguise itself. */
export const withoutControlCharacters = (text: string): string => text.replace(CONTROL_CHARACTERS, '\u{fffd}')

/** Escapes these characters in JSON, which does not change the value. */
const escapeControlCharacters = (json: string): string =>
  json.replace(CONTROL_CHARACTERS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

const cell = (value: string | null): string => withoutControlCharacters(value ?? '-').replace(/\s+/g, ' ')

const usesColour = (sink: TextSink, env: Io['env']): boolean =>
  sink.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

/** Dims text on a terminal. */
export const dimmed = (text: string, sink: TextSink, env: Io['env']): string =>
  usesColour(sink, env) ? `\u001b[2m${text}\u001b[22m` : text

export const createOutput = ({ stdout, stderr, env, pager }: Io): Output => {
  const bold = (text: string): string => (usesColour(stdout, env) ? `\u001b[1m${text}\u001b[22m` : text)
  const line = (text: string): void => void stdout.write(`${text}\n`)
  const tableOf = (header: readonly string[], rows: Cells, layout?: Omit<TableLayout, 'width'>): string[] => {
    const width = stdout.isTTY === true ? (stdout.columns ?? null) : null
    const [head, ...body] = layOut([header, ...rows.map((row) => row.map(cell))], { ...layout, width })
    return [bold(head!), ...body]
  }
  const note = (text: string): void => void stderr.write(`${withoutKeys(withoutControlCharacters(text))}\n`)
  return {
    line: (text) => line(withoutControlCharacters(text)),
    json: (value) => line(escapeControlCharacters(JSON.stringify(value, null, 2))),
    fields: (rows) =>
      layOut(
        rows.filter((row) => row !== false).map(([name, value]) => [`${name}:`, cell(value)]),
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
