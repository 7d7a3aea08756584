import { createReadStream } from 'node:fs'
import { CsvError, parse } from 'csv-parse'
import { badRequest } from '../domain/errors.ts'
import type { Dataset } from '../sdk/trainers/dataset.ts'

/** A parsed CSV file. Labels are still words, because the file does not define their class indices. */
export interface CsvTable {
  readonly path: string
  readonly featureNames: readonly string[]
  /** Row-major [rows, features]. */
  readonly features: Float64Array
  /** The position of each row's label in `words`. */
  readonly labels: Uint32Array
  readonly words: readonly string[]
  /** The line in which each word first occurs, for messages. */
  readonly firstLines: readonly number[]
}

const LABEL_NAMES = ['label', 'y', 'target']

const isNumber = (text: string): boolean => text !== '' && Number.isFinite(Number(text))

/** Finds the label column, and the column names if the first line is a header. */
const readHead = (first: readonly string[], label: string | undefined, path: string) => {
  const lower = first.map((name) => name.toLowerCase())
  // A first line with only numbers is data, even if one of them equals the position in `label`.
  const named = label === undefined ? LABEL_NAMES.map((name) => lower.indexOf(name)) : [first.indexOf(label)]
  const found = first.every(isNumber) ? undefined : named.find((column) => column >= 0)
  const isHeader = found !== undefined || !first.some(isNumber)
  if (label !== undefined && found === undefined) {
    const position = /^[1-9]\d*$/.test(label) ? Number(label) - 1 : -1
    if (position < 0 || position >= first.length) {
      const columns = isHeader ? first.join(', ') : `1 to ${first.length}; line 1 is not a header`
      throw badRequest(`${path} has no column '${label}' for the labels. Its columns: ${columns}.`)
    }
    return { isHeader, labelColumn: position }
  }
  return { isHeader, labelColumn: found ?? first.length - 1 }
}

/** A Float64Array that grows on demand. */
const growing = () => {
  let values = new Float64Array(1024)
  let size = 0
  return {
    push: (value: number): void => {
      if (size === values.length) {
        const larger = new Float64Array(size * 2)
        larger.set(values)
        values = larger
      }
      values[size++] = value
    },
    finish: (): Float64Array => values.slice(0, size),
  }
}

/**
 * Reads a CSV file of numbers with one label per row. The first line is a header if one of its columns is named label, y, or
 * target (or as in `label`), or if none of it is a number. The label is that column, otherwise the last one; `label` gives its
 * name or its position from 1.
 * @throws bad_request that names the file, line, and column of the first error
 */
export const readCsv = async (path: string, label?: string): Promise<CsvTable> => {
  const features = growing()
  const labels: number[] = []
  const words = new Map<string, number>()
  const firstLines: number[] = []
  let names: readonly string[] = []
  let labelColumn = -1
  const file = createReadStream(path)
  const rows = parse({ bom: true, trim: true, skip_empty_lines: true, info: true })
  // `pipe` does not forward errors, so a missing file would wait forever.
  file.on('error', (error) => rows.destroy(Object.assign(error, { path })))
  file.pipe(rows)
  try {
    for await (const { record, info } of rows as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (labelColumn < 0) {
        if (record.length < 2)
          throw badRequest(`${path} has one column; it needs features and a label, separated by commas.`)
        const head = readHead(record, label, path)
        labelColumn = head.labelColumn
        const columns = record.map((name, column) => (head.isHeader ? name : `column ${column + 1}`))
        names = columns
        if (head.isHeader) continue
      }
      record.forEach((text, column) => {
        if (column === labelColumn) return
        if (!isNumber(text)) {
          const found = text === '' ? 'is empty' : `is '${text}'`
          throw badRequest(
            `${path} line ${info.lines}: ${names[column]} ${found}, but features must be finite numbers.`,
          )
        }
        features.push(Number(text))
      })
      const word = record[labelColumn]!
      if (word === '') throw badRequest(`${path} line ${info.lines}: the label (${names[labelColumn]}) is empty.`)
      const known = words.get(word) ?? words.size
      if (known === words.size) {
        words.set(word, known)
        firstLines.push(info.lines)
      }
      labels.push(known)
    }
  } catch (error) {
    if (error instanceof CsvError) throw badRequest(`${path} is not a CSV file: ${error.message}.`)
    if ((error as { code?: unknown }).code === 'ENOENT') throw badRequest(`${path} does not exist.`)
    throw error
  }
  if (labels.length === 0) throw badRequest(`${path} has no rows.`)
  return {
    path,
    featureNames: names.filter((_, column) => column !== labelColumn),
    features: features.finish(),
    labels: Uint32Array.from(labels),
    words: [...words.keys()],
    firstLines,
  }
}

/**
 * Converts label words to class indices, the same on every device: their positions in `classes`, or without such a list the
 * words themselves, which must be integers from 0.
 * @throws bad_request that names the first invalid word
 */
export const toDataset = (table: CsvTable, classes: readonly string[] | null): Dataset => {
  const indices = table.words.map((word, position) => {
    const index = classes ? classes.indexOf(word) : /^\d{1,9}(\.0+)?$/.test(word) ? Number(word) : -1
    if (index >= 0) return index
    const where = `${table.path} line ${table.firstLines[position]}: label '${word}'`
    throw badRequest(
      classes
        ? `${where} is not among the classes (${classes.join(', ')}).`
        : `${where} is not a class index (0, 1, 2, ...). Name the classes, in the same order on all devices: ` +
            '--classes cat,dog or the hyperparameter classes of the round.',
    )
  })
  return {
    featureCount: table.featureNames.length,
    features: table.features,
    labels: table.labels.map((position) => indices[position]!),
  }
}
