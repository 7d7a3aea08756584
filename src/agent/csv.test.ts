import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCsv, toDataset } from './csv.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'csv-'))
})
afterAll(() => rm(folder, { recursive: true }))

const write = async (content: string): Promise<string> => {
  const path = join(folder, 'data.csv')
  await writeFile(path, content)
  return path
}

const read = async (content: string, label?: string, classes: readonly string[] | null = null) => {
  const table = await readCsv(await write(content), label)
  const { featureCount, features, labels } = toDataset(table, classes)
  return { names: table.featureNames, featureCount, features: [...features], labels: [...labels] }
}

test('a column named label, y, or target is the label in any position', async () => {
  const expected = { names: ['a', 'b'], featureCount: 2, features: [1, 2, 3, -4.5e-1], labels: [0, 2] }
  expect(await read('a,label,b\n1,0,2\n3,2,-4.5e-1\n')).toEqual(expected)
  expect(await read('\uFEFFa, Y ,b\r\n1,0,2\r\n\r\n3,2.0,-.45')).toEqual(expected)
  expect(await read('Target,a,b\n0,1,2\n"2","3",-0.45\n')).toEqual(expected)
})

test('without a header, the last column is the label', async () => {
  expect(await read('1,2,0\n3,4,1\n')).toEqual({
    names: ['column 1', 'column 2'],
    featureCount: 2,
    features: [1, 2, 3, 4],
    labels: [0, 1],
  })
})

test('a header without a known name is recognized because it has no numbers; its last column is the label', async () => {
  expect((await read('width,height,kind\n1,2,0\n')).names).toEqual(['width', 'height'])
})

test('the label can be given by name or by position', async () => {
  expect((await read('kind,width,label\n1,2,0\n', 'kind')).labels).toEqual([1])
  expect((await read('kind,width\n1,2\n', '1')).labels).toEqual([1])
  expect((await read('1,2,3\n', '2')).labels).toEqual([2])
})

test('words become their positions in the list of classes, the same on every device', async () => {
  const classes = ['cat', 'dog', 'emu']
  expect((await read('1,emu\n2,cat\n', undefined, classes)).labels).toEqual([2, 0])
  expect((await read('1,dog\n2,emu\n', undefined, classes)).labels).toEqual([1, 2])
  expect((await read('1,7\n2,3\n', undefined, ['3', '7'])).labels).toEqual([1, 0])
})

test.each([
  ['a,b,label\n1,2,0\n1,x,0\n', "line 3: b is 'x', but features must be finite numbers."],
  ['a,b,label\n1,,0\n', 'line 2: b is empty, but features must be finite numbers.'],
  ['1,2,0\n1,NaN,0\n', "line 2: column 2 is 'NaN', but features must be finite numbers."],
  ['1,Infinity,0\n', "line 1: column 2 is 'Infinity', but features must be finite numbers."],
  ['a,label\n1,\n', 'line 2: the label (label) is empty.'],
  ['1,2,0\n\n1,0\n', ' is not a CSV file: Invalid Record Length: expect 3, got 2 on line 3.'],
  ['1,"2,0\n', ' is not a CSV file: Quote Not Closed: the parsing is finished with an opening quote at line 1.'],
  ['a,label\n', ' has no rows.'],
  ['', ' has no rows.'],
  ['1\n2\n', ' has one column; it needs features and a label, separated by commas.'],
  ['1;2;0\n', ' has one column; it needs features and a label, separated by commas.'],
  [
    '1,cat\n2,dog\n',
    "line 1: label 'cat' is not a class index (0, 1, 2, ...). Name the classes, in the same order on all devices: " +
      '--classes cat,dog or the hyperparameter classes of the round.',
  ],
  ['1,0\n2,-1\n', "line 2: label '-1' is not a class index (0, 1, 2, ...)."],
])('%j is refused with the location of the error', async (content, message) => {
  await expect(read(content)).rejects.toThrow(message.startsWith('line') ? `data.csv ${message}` : `data.csv${message}`)
})

test('an unknown class, a missing column, and a missing file are reported by name', async () => {
  await expect(read('1,0\n2,emu\n', undefined, ['0', 'cat'])).rejects.toThrow(
    "data.csv line 2: label 'emu' is not among the classes (0, cat).",
  )
  await expect(read('a,b\n1,0\n', 'kind')).rejects.toThrow("has no column 'kind' for the labels. Its columns: a, b.")
  await expect(read('1,0\n', '3')).rejects.toThrow(
    "has no column '3' for the labels. Its columns: 1 to 2; line 1 is not a header.",
  )
  await expect(readCsv(join(folder, 'none.csv'))).rejects.toThrow('none.csv does not exist.')
  await expect(readCsv(folder)).rejects.toMatchObject({ code: 'EISDIR', path: folder })
})
