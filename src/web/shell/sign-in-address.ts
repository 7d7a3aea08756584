/** What the address brought along for somebody who is to be signed in. */
export type SignInAddress =
  | { readonly kind: 'invitation'; readonly token: string }
  | { readonly kind: 'link'; readonly code: string }
  | { readonly kind: 'provider'; readonly query: string }

const FRAGMENT = /^#(invitation|sign-in)=([\w-]{43})$/
/** Where the identity provider sends the browser back to. */
const CALLBACK = '/sign-in/callback'

/** The token or code of a link, or the identity provider's answer: taken out of the address before anything else sees it. */
export const takeSignInAddress = (): SignInAddress | null => {
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
