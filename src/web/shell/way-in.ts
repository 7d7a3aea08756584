/** What the address brought along for somebody who is to be signed in. */
export type WayIn =
  | { readonly kind: 'invitation'; readonly token: string }
  | { readonly kind: 'link'; readonly code: string }
  | { readonly kind: 'provider'; readonly query: string }

const FRAGMENT = /^#(invitation|sign-in)=([\w-]{43})$/
/** Where the identity provider sends the browser back to. */
const CALLBACK = '/sign-in/callback'

/** The token or code of a link, or the identity provider's answer: taken out of the address before anything else sees it. */
export const takeWayIn = (): WayIn | null => {
  const { hash, pathname, search } = window.location
  const [, kind, secret] = FRAGMENT.exec(hash) ?? []
  if (secret !== undefined) {
    window.history.replaceState(null, '', pathname + search)
    return kind === 'invitation' ? { kind, token: secret } : { kind: 'link', code: secret }
  }
  if (pathname !== CALLBACK) return null
  window.history.replaceState(null, '', '/')
  return { kind: 'provider', query: search.slice(1) }
}

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
