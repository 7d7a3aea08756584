import type { Io, TextSink } from './io.ts'

/** Prints data to stdout and everything about it to stderr, so that stdout can be piped. */
export interface Output {
  /** A line of data. */
  line(text: string): void
  /** Indented JSON. */
  json(value: unknown): void
  /** Names before values, aligned; null values are shown as a dash. */
  fields(rows: readonly (readonly [name: string, value: string | null])[]): void
  table(header: readonly string[], rows: readonly (readonly (string | null)[])[]): void
  /** A line about what is going on. */
  note(text: string): void
  /** What the service says of a request that it accepted all the same. */
  warn(text: string): void
}

/** A key is printed where it was made and nowhere else, however it got into a message. */
export const withoutKeys = (text: string): string => text.replace(/sk_live_[0-9A-Za-z]+/g, 'sk_live_…')

/** Text from elsewhere must not steer the terminal: control characters (but line breaks and tabs) become a mark. */
export const harmless = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, '\u{fffd}')

const cell = (value: string | null): string => harmless(value ?? '-').replace(/\s+/g, ' ')

const aligned = (rows: readonly (readonly string[])[]): string[] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, [...text].length)
  return rows.map((row) =>
    row
      .map((text, column) => text + ' '.repeat(widths[column]! - [...text].length))
      .join('  ')
      .trimEnd(),
  )
}

const usesColour = (sink: TextSink, env: Io['env']): boolean =>
  sink.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

export const createOutput = ({ stdout, stderr, env }: Io): Output => {
  const bold = (text: string): string => (usesColour(stdout, env) ? `\u001b[1m${text}\u001b[22m` : text)
  const line = (text: string): void => void stdout.write(`${text}\n`)
  const note = (text: string): void => void stderr.write(`${withoutKeys(harmless(text))}\n`)
  return {
    line: (text) => line(harmless(text)),
    json: (value) => line(JSON.stringify(value, null, 2)),
    fields: (rows) => aligned(rows.map(([name, value]) => [`${name}:`, cell(value)])).forEach(line),
    table: (header, rows) => {
      const [head, ...body] = aligned([header, ...rows.map((row) => row.map(cell))])
      line(bold(head!))
      body.forEach(line)
    },
    note,
    warn: (text) => note(`Warning: ${text}`),
  }
}
