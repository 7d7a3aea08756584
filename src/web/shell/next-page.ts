/** Pages outside the dashboard that need a signed-in person. */
const PAGES = ['/login', '/login/device']
const NEXT = 'tributary-next'
const PLACE = 'tributary-place'

/** Keeps the address of the page, in this tab, before the browser goes to the identity provider. */
export const keepPlace = (): void => sessionStorage.setItem(PLACE, window.location.pathname + window.location.search)

/** Restores that address, once; the first page's if there is none. */
export const restorePlace = (): void => {
  const place = sessionStorage.getItem(PLACE) ?? '/'
  sessionStorage.removeItem(PLACE)
  window.history.replaceState(null, '', window.location.origin + place)
}

/** Removes `?next=` from the address. In this tab, it survives the redirect to the identity provider and back. */
export const takeNextPage = (): void => {
  const { pathname, search } = window.location
  const next = new URLSearchParams(search).get('next')
  if (pathname !== '/' || next === null) return
  window.history.replaceState(null, '', '/')
  sessionStorage.setItem(NEXT, next)
}

/** Returns the page to open after sign-in, once; null if there is none. Never another site. */
export const nextPage = (): string | null => {
  const next = sessionStorage.getItem(NEXT)
  sessionStorage.removeItem(NEXT)
  const { origin } = window.location
  const url = next !== null && URL.canParse(next, origin) ? new URL(next, origin) : null
  return url !== null && url.origin === origin && PAGES.includes(url.pathname) ? url.pathname + url.search : null
}
