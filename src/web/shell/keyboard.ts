/** What a key does, given the one pressed before it. */
export type KeyAction =
  | { readonly kind: 'search' }
  | { readonly kind: 'help' }
  | { readonly kind: 'go'; readonly key: string }
  | { readonly kind: 'wait' }
  | null

export interface Pressed {
  readonly key: string
  readonly modified: boolean
  /** In a field, where keys are text. */
  readonly typing: boolean
}

/** `/` searches, `?` lists the keys, `g` waits for the key of a page. */
export const actionOf = ({ key, modified, typing }: Pressed, waiting: boolean): KeyAction => {
  if (modified || typing) return null
  if (waiting) return { kind: 'go', key }
  if (key === '/') return { kind: 'search' }
  if (key === '?') return { kind: 'help' }
  return key === 'g' ? { kind: 'wait' } : null
}
