/** Returns the value below which the given share (0 to 1) of the values lies; NaN if there are none. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Returns the ratios of two series measured alternately. Pairs are compared because both saw the same background load. */
export const pairwise = (above: readonly number[], below: readonly number[]): number[] =>
  above.map((value, round) => value / below[round]!)

/** Prints a Markdown table for docs/benchmarks.md, with columns padded for the terminal. */
export const printTable = (header: readonly string[], rows: readonly (readonly string[])[]): void => {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join(' | ')} |`
  console.log(line(header))
  console.log(
    `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`,
  )
  for (const row of rows) console.log(line(row))
}
