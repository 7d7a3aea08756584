import { restorePlace } from './next-page.ts'

/** Sign-in data from the page's address. */
export type SignInAddress =
  | { readonly kind: 'invitation'; readonly token: string }
  | { readonly kind: 'link'; readonly code: string }
  | { readonly kind: 'provider'; readonly query: string }

const FRAGMENT = /^#(invitation|sign-in)=([\w-]{43})$/
/** The identity provider's redirect URI. */
const CALLBACK = '/sign-in/callback'
const INVITATION = 'tributary-invitation'

/** The invitation that this tab was opened with, until it is accepted or dismissed: the page may be reloaded before. */
export const keptInvitation = (): SignInAddress | null => {
  const token = sessionStorage.getItem(INVITATION)
  return token === null ? null : { kind: 'invitation', token }
}

export const forgetInvitation = (): void => sessionStorage.removeItem(INVITATION)

/** Removes a link's token or code, or the identity provider's response, from the address before other code can see it. */
export const takeSignInAddress = (): SignInAddress | null => {
  const { hash, pathname, search } = window.location
  const [, kind, secret] = FRAGMENT.exec(hash) ?? []
  if (secret !== undefined) {
    window.history.replaceState(null, '', pathname + search)
    if (kind !== 'invitation') return { kind: 'link', code: secret }
    sessionStorage.setItem(INVITATION, secret)
    return { kind, token: secret }
  }
  if (pathname !== CALLBACK) return null
  restorePlace()
  return { kind: 'provider', query: search.slice(1) }
}
