import { useEffect } from 'react'
import { actionOf } from './keyboard.ts'

const WAIT_MS = 1500

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

const focusSearch = (): boolean => {
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  field?.focus()
  field?.select()
  return field !== null
}

/** Listens to the keys of the whole page. */
export const useKeyboard = (onGo: (key: string) => boolean, onHelp: () => void): void => {
  useEffect(() => {
    let waitingUntil = 0
    const listen = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (key === 'Escape' && isField(target)) (target as HTMLElement).blur()
      const waiting = Date.now() < waitingUntil
      const action = actionOf({ key, modified: ctrlKey || metaKey || altKey, typing: isField(target) }, waiting)
      waitingUntil = action?.kind === 'wait' ? Date.now() + WAIT_MS : 0
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
