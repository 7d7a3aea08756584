import { useEffect } from 'react'

/** The action for a key, given the previous one. */
type KeyAction =
  | { readonly kind: 'search' }
  | { readonly kind: 'help' }
  | { readonly kind: 'go'; readonly key: string }
  | { readonly kind: 'wait' }
  | null

interface Pressed {
  readonly key: string
  readonly modified: boolean
  /** True in a text field. */
  readonly typing: boolean
}

/** `/` searches, `?` lists the keys, `g` waits for a page's key. */
export const actionOf = ({ key, modified, typing }: Pressed, waiting: boolean): KeyAction => {
  if (modified || typing) return null
  if (waiting) return { kind: 'go', key }
  if (key === '/') return { kind: 'search' }
  if (key === '?') return { kind: 'help' }
  return key === 'g' ? { kind: 'wait' } : null
}

const WAIT_MS = 1500

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

const focusSearch = (): boolean => {
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  field?.focus()
  field?.select()
  return field !== null
}

/** An open dialog disables the shell's keys. */
const isBehindDialog = (): boolean => document.querySelector('dialog[open]') !== null

/** Listens to keys on the whole page. */
export const useKeyboard = (onGo: (key: string) => boolean, onHelp: () => void): void => {
  useEffect(() => {
    let waitingUntil = 0
    const listen = (event: KeyboardEvent): void => {
      if (isBehindDialog()) return
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (key === 'Escape' && isField(target)) (target as HTMLElement).blur()
      const waiting = performance.now() < waitingUntil
      const action = actionOf({ key, modified: ctrlKey || metaKey || altKey, typing: isField(target) }, waiting)
      waitingUntil = action?.kind === 'wait' ? performance.now() + WAIT_MS : 0
      const isDone =
        (action?.kind === 'search' && focusSearch()) ||
        (action?.kind === 'go' && onGo(action.key)) ||
        action?.kind === 'help'
      if (action?.kind === 'help') onHelp()
      if (isDone) event.preventDefault()
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [onGo, onHelp])
}
