/** A page of a list that continues after a cursor. */
export interface Keyset {
  /** The value of `after` for the next page; null at the end. */
  readonly next: string | null
}

/** A page of a list, as it was loaded. */
export interface LoadedPage<Page> {
  /** The cursor before it; empty for the first page. */
  readonly after: string
  readonly page: Page
  /** Milliseconds since 1970, when its request began. */
  readonly loadedAt: number
}

/** Indexes of the first and the last one. */
export type Span = readonly [first: number, last: number]

/**
 * Loads the pages of a span again, or the page after all others. Those before it stay. So do those behind it, if they still
 * follow on; otherwise they are dropped, to be loaded again when they come into view: the effort does not depend on how many
 * pages were loaded.
 */
export const loadPages = async <Page extends Keyset>(
  pages: readonly LoadedPage<Page>[],
  [first, last]: Span,
  load: (after: string) => Promise<Page>,
): Promise<readonly LoadedPage<Page>[]> => {
  const loaded: LoadedPage<Page>[] = []
  let after: string | null = pages[first]?.after ?? pages[first - 1]?.page.next ?? ''
  for (let index = first; index <= last && after !== null; index++) {
    const loadedAt = Date.now()
    const page: Page = await load(after)
    loaded.push({ after, page, loadedAt })
    after = page.next
  }
  const rest = pages.slice(last + 1)
  return [...pages.slice(0, first), ...loaded, ...(rest[0]?.after === after ? rest : [])]
}

/** Returns the pages that contain the rows of a span, given the number of rows in each page. */
export const pagesWith = (sizes: readonly number[], [firstRow, lastRow]: Span): Span => {
  const pageOf = (row: number): number => {
    let end = 0
    const index = sizes.findIndex((size) => row < (end += size))
    return index < 0 ? Math.max(0, sizes.length - 1) : index
  }
  return [pageOf(firstRow), pageOf(lastRow)]
}
