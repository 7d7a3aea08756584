import { type ComponentType, lazy } from 'react'
import { PAGES } from './pages.ts'

interface Loaded {
  readonly default: ComponentType
}

const loaded = new Map<string, Loaded>()

/** React renders at once what such a promise has; a real one it awaits first, and shows meanwhile that something loads. */
const ready = (area: Loaded): Promise<Loaded> =>
  // biome-ignore lint/suspicious/noThenProperty: it is to be taken for a promise
  ({ then: (resolve: (area: Loaded) => void) => resolve(area) }) as unknown as Promise<Loaded>

/** The areas as components that are loaded when they are first shown. */
export const AREAS = PAGES.map(({ path, load }) => ({
  path,
  Area: lazy(() => {
    const area = loaded.get(path)
    return area === undefined ? load() : ready(area)
  }),
}))

/** Loads the area of an address before it is shown. */
export const preloadArea = async (address: string): Promise<void> => {
  const page = PAGES.find(({ path }) => (path === '/' ? address === path : `${address}/`.startsWith(`${path}/`)))
  if (page !== undefined) loaded.set(page.path, await page.load())
}
