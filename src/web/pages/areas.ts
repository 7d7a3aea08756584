import { type ComponentType, lazy } from 'react'
import { mayNow } from '../api/session.ts'
import type { LoadedPage } from '../shell/page-entry.ts'
import { PAGES } from './pages.ts'

const loaded = new Map<string, LoadedPage>()

type Default = { readonly default: ComponentType }

/** React renders at once what such a promise has; a real one it awaits first, and shows meanwhile that something loads. */
const ready = ({ Area }: LoadedPage): Promise<Default> =>
  // biome-ignore lint/suspicious/noThenProperty: it is to be taken for a promise
  ({ then: (resolve: (area: Default) => void) => resolve({ default: Area }) }) as unknown as Promise<Default>

/** The areas as components that are loaded when they are first shown. */
export const AREAS = PAGES.map(({ path, load }) => ({
  path,
  Area: lazy(() => {
    const area = loaded.get(path)
    return area === undefined ? load().then(({ Area }) => ({ default: Area })) : ready(area)
  }),
}))

/** Safari has no such callback. */
const whenIdle = (work: () => void): unknown =>
  'requestIdleCallback' in window ? requestIdleCallback(work, { timeout: 2000 }) : setTimeout(work, 200)

/** Loads the code of all other areas while the browser has nothing else to do, so that a click on one shows it at once. */
export const loadOthers = async (): Promise<void> => {
  for (const { path, load } of PAGES) {
    await new Promise<void>((done) => whenIdle(() => done()))
    // What cannot be loaded now is asked for again when it is visited.
    const area = await load().catch(() => null)
    if (area !== null) loaded.set(path, area)
  }
}

/** Loads the area of an address, and asks for what it shows first once it is known who is signed in. */
export const preloadArea = async (address: string, session: Promise<void>): Promise<void> => {
  const page = PAGES.find(({ path }) => (path === '/' ? address === path : `${address}/`.startsWith(`${path}/`)))
  if (page === undefined) return
  const area = await page.load()
  loaded.set(page.path, area)
  await session
  const may = mayNow()
  if (may !== null) area.preload?.(may)
}
