import { type ComponentType, lazy } from 'react'
import { mayNow } from '../api/session.ts'
import type { LoadedPage, PageEntry } from '../shell/page-entry.ts'
import { PAGES } from './pages.ts'

const loaded = new Map<string, LoadedPage>()

type Default = { readonly default: ComponentType }

/** A thenable that React can render at once. For a real promise, React would first show a loading state. */
const ready = ({ Area }: LoadedPage): Promise<Default> =>
  // biome-ignore lint/suspicious/noThenProperty: meant to be a thenable
  ({ then: (resolve: (area: Default) => void) => resolve({ default: Area }) }) as unknown as Promise<Default>

const NOT_LOADED = 'This page could not be loaded: the service may be restarting or may have been updated.'

const load = async (page: PageEntry): Promise<LoadedPage> => {
  const area = await page.load().catch((cause: unknown) => {
    throw new Error(NOT_LOADED, { cause })
  })
  loaded.set(page.path, area)
  return area
}

/** The areas as lazily loaded components. */
export const AREAS = PAGES.map((page) => ({
  path: page.path,
  Area: lazy(() => {
    const area = loaded.get(page.path)
    return area === undefined ? load(page).then(({ Area }) => ({ default: Area })) : ready(area)
  }),
}))

/** Loads the code of an area that is likely to be visited next. If this fails, it is loaded again when it is visited. */
export const expectArea = (page: PageEntry): void => void load(page).catch(() => undefined)

/** Loads the area for an address, and prefetches its first data once the session is known. */
export const preloadArea = async (address: string, session: Promise<void>): Promise<void> => {
  const page = PAGES.find(({ path }) => (path === '/' ? address === path : `${address}/`.startsWith(`${path}/`)))
  if (page === undefined) return
  const area = await load(page)
  await session
  const may = mayNow()
  if (may !== null) area.preload?.(may)
}
