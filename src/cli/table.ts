/** Columns that a terminal takes for a text: two for wide characters, none for combining ones. */
export const widthOf = (text: string): number => {
  // Most of it is plain.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const sign of text) width += /\p{Mn}|\p{Me}|\p{Cf}/u.test(sign) ? 0 : isWide(sign) ? 2 : 1
  return width
}

/** The blocks that East Asian Width calls wide (Unicode Standard Annex 11), and emoji. */
const isWide = (sign: string): boolean =>
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]/u.test(
    sign,
  )

/** The text in so many columns, with an ellipsis where some of it is left out. */
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
  /** Of the terminal; null where nothing limits it. */
  readonly width: number | null
  /** Columns of numbers. */
  readonly right?: ReadonlySet<number>
  /** Columns of ids, of which the first eight characters stand for the rest. */
  readonly ids?: ReadonlySet<number>
}

const GAP = 2
const SHORT_ID = 8
const LEAST = 6
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Takes from the widest column that may shrink until all fit, and never what somebody must copy whole. */
const shrink = (widths: number[], mayShrink: readonly boolean[], width: number): void => {
  const room = width - GAP * (widths.length - 1)
  let total = widths.reduce((sum, one) => sum + one, 0)
  for (; total > room; total--) {
    let widest = -1
    for (const [column, one] of widths.entries()) {
      if (mayShrink[column] && one > LEAST && (widest < 0 || one > widths[widest]!)) widest = column
    }
    if (widest < 0) return
    widths[widest]!--
  }
}

/** A table as lines, the header first. Cells are one line each. */
export const layOut = (rows: readonly (readonly string[])[], layout: TableLayout): string[] => {
  const count = Math.max(0, ...rows.map((row) => row.length))
  const measure = (of: readonly (readonly string[])[]): number[] =>
    Array.from({ length: count }, (_, column) =>
      of.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
    )
  let shown = rows
  let widths = measure(shown)
  const isTooWide = (): boolean =>
    layout.width !== null && widths.reduce((sum, one) => sum + one, GAP * (count - 1)) > layout.width
  if (isTooWide() && layout.ids !== undefined) {
    shown = rows.map((row) =>
      row.map((text, column) => (layout.ids!.has(column) && UUID.test(text) ? text.slice(0, SHORT_ID) : text)),
    )
    widths = measure(shown)
  }
  if (isTooWide()) {
    const mayShrink = widths.map((_, column) => !shown.slice(1).some((row) => UUID.test(row[column] ?? '')))
    shrink(widths, mayShrink, layout.width!)
  }
  return shown.map((row) =>
    row
      .map((text, column) => {
        const kept = cut(text, widths[column]!)
        const space = ' '.repeat(widths[column]! - widthOf(kept))
        return layout.right?.has(column) ? space + kept : kept + space
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
}
