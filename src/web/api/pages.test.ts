import { expect, it } from 'vitest'
import { type LoadedPage, loadPages, pagesWith } from './pages.ts'

interface Page {
  readonly rows: readonly number[]
  readonly next: string | null
}

/** A list of these numbers, two a page, that counts requests. */
const listOf = (numbers: readonly number[]) => {
  const requests: string[] = []
  const load = async (after: string): Promise<Page> => {
    requests.push(after)
    const from = after === '' ? 0 : numbers.findIndex((one) => one > Number(after))
    const rows = from < 0 ? [] : numbers.slice(from, from + 2)
    return { rows, next: rows.length > 0 && rows.at(-1)! < numbers.at(-1)! ? String(rows.at(-1)) : null }
  }
  return { load, requests }
}
const rowsOf = (pages: readonly LoadedPage<Page>[]) => pages.map(({ page }) => page.rows)

const loadAll = async (numbers: readonly number[]) => {
  const { load } = listOf(numbers)
  let pages: readonly LoadedPage<Page>[] = []
  do pages = await loadPages(pages, [pages.length, pages.length], load)
  while (pages.at(-1)!.page.next !== null)
  return pages
}

it('loads pages one after the other', async () => {
  expect(rowsOf(await loadAll([10, 20, 30, 40, 50]))).toEqual([[10, 20], [30, 40], [50]])
})

it('reloads only the pages in view, and keeps those behind them while they follow on', async () => {
  const pages = await loadAll([10, 20, 30, 40, 50, 60, 70])
  const { load, requests } = listOf([10, 20, 30, 40, 50, 60, 70, 80])
  const reloaded = await loadPages(pages, [1, 2], load)
  expect(requests).toEqual(['20', '40'])
  expect(rowsOf(reloaded)).toEqual([[10, 20], [30, 40], [50, 60], [70]])
})

it('drops the pages behind a changed one, so that no row is missing or repeated', async () => {
  const pages = await loadAll([10, 20, 30, 40, 50, 60, 70])
  const { load, requests } = listOf([5, 10, 20, 30, 40, 50, 60, 70])
  const reloaded = await loadPages(pages, [0, 0], load)
  expect([requests, rowsOf(reloaded)]).toEqual([[''], [[5, 10]]])
  expect(rowsOf(await loadPages(reloaded, [1, 1], load))).toEqual([
    [5, 10],
    [20, 30],
  ])
})

it('ends with the list, if it has become shorter', async () => {
  const pages = await loadAll([10, 20, 30, 40, 50])
  expect(rowsOf(await loadPages(pages, [0, 2], listOf([10]).load))).toEqual([[10]])
})

it('finds the pages of the rows in view', () => {
  const sizes = [50, 50, 10]
  const spans = [
    [0, 0],
    [49, 50],
    [60, 109],
    [200, 300],
  ] as const
  expect(spans.map((span) => pagesWith(sizes, span))).toEqual([
    [0, 0],
    [0, 1],
    [1, 2],
    [2, 2],
  ])
  expect(pagesWith([], [0, 0])).toEqual([0, 0])
})
