import { restorePlace } from './next-page.ts'

/** Sign-in data from the page's address. */
export type SignInAddress =
  | { readonly kind: 'invitation'; readonly token: string }
  | { readonly kind: 'link'; readonly code: string }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'provider'; readonly query: string }

const FRAGMENT = /^#(invitation|sign-in)(?:=(.*))?$/
const SECRET = /^[\w-]{43}$/
/** The identity provider's redirect URI. */
const CALLBACK = '/sign-in/callback'

/**
 * The invitation that this page was opened with, until it is accepted or dismissed: the page may be reloaded before. It is in
 * the state of its history entry, which neither another address nor a new tab gets.
 */
export const keptInvitation = (): SignInAddress | null => {
  const state: unknown = window.history.state
  if (typeof state !== 'object' || state === null || !('invitation' in state)) return null
  return { kind: 'invitation', token: String(state.invitation) }
}

export const forgetInvitation = (): void => window.history.replaceState(null, '')

/** Removes a link's token or code, or the identity provider's response, from the address before other code can see it. */
export const takeSignInAddress = (): SignInAddress | null => {
  const { hash, pathname, search } = window.location
  const [, kind, secret = ''] = FRAGMENT.exec(hash) ?? []
  if (kind !== undefined) {
    const isInvitation = kind === 'invitation'
    const isComplete = SECRET.test(secret)
    window.history.replaceState(isInvitation && isComplete ? { invitation: secret } : null, '', pathname + search)
    if (!isComplete) return { kind: 'incomplete' }
    return isInvitation ? { kind, token: secret } : { kind: 'link', code: secret }
  }
  if (pathname !== CALLBACK) return null
  restorePlace()
  return { kind: 'provider', query: search.slice(1) }
}
