/** Returns a text's width in terminal columns: two for wide characters, none for combining ones. */
export const widthOf = (text: string): number => {
  // Fast path for ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const sign of text) width += /\p{Mn}|\p{Me}|\p{Cf}/u.test(sign) ? 0 : isWide(sign) ? 2 : 1
  return width
}

/** The blocks that are wide by East Asian Width (Unicode Standard Annex 11), and emoji. */
const isWide = (sign: string): boolean =>
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]/u.test(
    sign,
  )

/** Shortens the text to so many columns, with an ellipsis if anything is cut off. */
export const cut = (text: string, width: number): string => {
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const sign of text) {
    const next = taken + widthOf(sign)
    if (next > width - 1) break
    kept += sign
    taken = next
  }
  return `${kept}…`
}

export interface TableLayout {
  /** The terminal's width; null if unlimited. */
  readonly width: number | null
  /** Right-aligned columns, for numbers. */
  readonly right?: ReadonlySet<number>
}

const GAP = 2
/** The width below which headers and texts are never cut. */
const MIN = 6
const UUID = /^([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-(\d\d-\d\d)[ T](\d\d:\d\d)(?::[\d.]+Z)?$/

type Rows = readonly (readonly string[])[]

/** True if all texts in a column match the pattern; dashes are ignored. */
const holds = (rows: Rows, column: number, pattern: RegExp): boolean => {
  const texts = rows.flatMap((row) => (row[column] === undefined || row[column] === '-' ? [] : [row[column]]))
  return texts.length > 0 && texts.every((text) => pattern.test(text))
}

const widest = (rows: Rows, column: number): number =>
  rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0)

const excess = (widths: readonly number[], width: number): number =>
  widths.reduce((sum, one) => sum + one, GAP * (widths.length - 1)) - width

/** Shrinks the widest column that is above its minimum, one step at a time, until all fit. */
const shrink = (widths: number[], least: readonly number[], width: number): void => {
  for (let over = excess(widths, width); over > 0; over--) {
    let found = -1
    for (const [column, one] of widths.entries()) {
      if (one > least[column]! && (found < 0 || one > widths[found]!)) found = column
    }
    if (found < 0) return
    widths[found]!--
  }
}

/** Returns column widths that fit the terminal. Shortens headers first, then texts, but not numbers, ids, or times. */
const widthsWithin = (
  [header = [], ...body]: Rows,
  right: ReadonlySet<number> | undefined,
  width: number,
): number[] => {
  const contents = header.map((_, column) => widest(body, column))
  const widths = header.map((text, column) => Math.max(contents[column]!, widthOf(text)))
  const isFixed = header.map(
    (_, column) => right?.has(column) || /^[0-9a-f]{8}$|^\d\d-\d\d /.test(body[0]?.[column] ?? ''),
  )
  const headers = widths.map((one, column) => Math.min(one, Math.max(contents[column]!, MIN)))
  const texts = headers.map((one, column) => (isFixed[column] ? one : Math.min(one, MIN)))
  for (const least of [headers, texts]) shrink(widths, least, width)
  return widths
}

/**
 * Formats a table as lines, header first, one line per row. On a narrow terminal, shortens ids to eight characters, which
 * commands accept, then drops the year from times, then truncates texts.
 */
export const layOut = (rows: Rows, { width, right }: TableLayout): string[] => {
  const columns = Array.from({ length: Math.max(0, ...rows.map((row) => row.length)) }, (_, column) => column)
  let shown: Rows = rows.map((row) => columns.map((column) => row[column] ?? ''))
  const full = columns.map((column) => widest(shown, column))
  if (width === null || excess(full, width) <= 0) return written(shown, full, right)
  for (const [pattern, short] of [
    [UUID, '$1'],
    [TIME, '$1 $2'],
  ] as const) {
    const those = new Set(columns.filter((column) => holds(shown.slice(1), column, pattern)))
    if (
      excess(
        columns.map((column) => widest(shown, column)),
        width,
      ) > 0
    )
      shown = shown.map((row) => row.map((text, column) => (those.has(column) ? text.replace(pattern, short) : text)))
  }
  return written(shown, widthsWithin(shown, right, width), right)
}

const written = (rows: Rows, widths: readonly number[], right: ReadonlySet<number> | undefined): string[] =>
  rows.map((row) =>
    row
      .map((text, column) => {
        const kept = cut(text, widths[column]!)
        const space = ' '.repeat(widths[column]! - widthOf(kept))
        return right?.has(column) ? space + kept : kept + space
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
