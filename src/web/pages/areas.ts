import { type ComponentType, lazy } from 'react'
import { mayNow } from '../api/session.ts'
import type { LoadedPage } from '../shell/page-entry.ts'
import { PAGES } from './pages.ts'

const loaded = new Map<string, LoadedPage>()

type Default = { readonly default: ComponentType }

/** A thenable that React can render at once. For a real promise, React would first show a loading state. */
const ready = ({ Area }: LoadedPage): Promise<Default> =>
  // biome-ignore lint/suspicious/noThenProperty: meant to be a thenable
  ({ then: (resolve: (area: Default) => void) => resolve({ default: Area }) }) as unknown as Promise<Default>

/** The areas as lazily loaded components. */
export const AREAS = PAGES.map(({ path, load }) => ({
  path,
  Area: lazy(() => {
    const area = loaded.get(path)
    return area === undefined ? load().then(({ Area }) => ({ default: Area })) : ready(area)
  }),
}))

/** Safari does not support requestIdleCallback. */
const whenIdle = (work: () => void): unknown =>
  'requestIdleCallback' in window ? requestIdleCallback(work, { timeout: 2000 }) : setTimeout(work, 200)

/** Preloads the code of all other areas while the browser is idle, so that clicks show them at once. */
export const loadOthers = async (): Promise<void> => {
  for (const { path, load } of PAGES) {
    await new Promise<void>((done) => whenIdle(() => done()))
    // If this fails, the area is loaded again when it is visited.
    const area = await load().catch(() => null)
    if (area !== null) loaded.set(path, area)
  }
}

/** Loads the area for an address, and prefetches its first data once the session is known. */
export const preloadArea = async (address: string, session: Promise<void>): Promise<void> => {
  const page = PAGES.find(({ path }) => (path === '/' ? address === path : `${address}/`.startsWith(`${path}/`)))
  if (page === undefined) return
  const area = await page.load()
  loaded.set(page.path, area)
  await session
  const may = mayNow()
  if (may !== null) area.preload?.(may)
}
