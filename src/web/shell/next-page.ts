/** Pages of this service, beside the dashboard, that need somebody to be signed in. */
const PAGES = ['/login', '/login/device']
const NEXT = 'tributary-next'

/** Takes `?next=` out of the address. It outlives the way to the identity provider and back, in this tab only. */
export const takeNextPage = (): void => {
  const { pathname, search } = window.location
  const next = new URLSearchParams(search).get('next')
  if (pathname !== '/' || next === null) return
  window.history.replaceState(null, '', '/')
  sessionStorage.setItem(NEXT, next)
}

/** Where to go now that somebody is signed in, once: never to another site. Null: nowhere. */
export const nextPage = (): string | null => {
  const next = sessionStorage.getItem(NEXT)
  sessionStorage.removeItem(NEXT)
  const { origin } = window.location
  const url = next !== null && URL.canParse(next, origin) ? new URL(next, origin) : null
  return url !== null && url.origin === origin && PAGES.includes(url.pathname) ? url.pathname + url.search : null
}
