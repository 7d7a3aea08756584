import { type ComponentProps, useLayoutEffect, useRef } from 'react'
import { createPortal } from 'react-dom'
import { isGoingBack } from '../url/scroll-place.ts'

/** How long after a dialog its effects may remove the button that opened it. */
const SETTLED_MS = 5000

/** After a dialog: if what had the focus before is gone or goes, the heading of the page gets it. */
const watchFocus = (openedAt: string): void => {
  const { pathname } = window.location
  const opener = document.activeElement
  const observer = new MutationObserver(() => check())
  const check = (): void => {
    const isLost = document.activeElement === null || document.activeElement === document.body
    if (!isLost || (opener !== document.body && opener?.isConnected)) return
    observer.disconnect()
    // A page that is opened later focuses its own heading.
    if (pathname !== window.location.pathname || document.querySelector('dialog:modal') !== null) return
    const preventScroll = pathname === openedAt || isGoingBack()
    document.querySelector<HTMLElement>('main h1[tabindex]')?.focus({ preventScroll })
  }
  observer.observe(document.body, { childList: true, subtree: true })
  setTimeout(() => observer.disconnect(), SETTLED_MS)
  check()
}

/** A modal dialog, open while it is rendered, that calls `onClose` when the user asks to close it. */
export const Modal = ({
  onClose,
  children,
  ...dialog
}: Omit<ComponentProps<'dialog'>, 'onClose'> & { readonly onClose: () => void }) => {
  const box = useRef<HTMLDialogElement>(null)
  const isSecondClick = useRef(false)
  // Closes the dialog before it is removed, so that the browser restores the focus.
  useLayoutEffect(() => {
    const element = box.current
    const openedAt = window.location.pathname
    element?.showModal()
    return () => {
      element?.close()
      // Once everything that leaves the page with the dialog has left it.
      setTimeout(() => watchFocus(openedAt))
    }
  }, [])
  return createPortal(
    <dialog
      ref={box}
      {...dialog}
      onCancel={(event) => {
        event.preventDefault()
        if (!isSecondClick.current) onClose()
      }}
      // The second click of a double click on the button that opened the dialog is outside it, but does not close it.
      onMouseDown={({ detail, target, currentTarget }) => {
        isSecondClick.current = detail > 1 && target === currentTarget
      }}
      onKeyDown={() => {
        isSecondClick.current = false
      }}
      // Browsers close a dialog on a second Esc in any case: reopens it.
      onClose={({ currentTarget }) => {
        if (currentTarget.open || !currentTarget.isConnected) return
        currentTarget.showModal()
        onClose()
      }}
    >
      {children}
    </dialog>,
    document.body,
  )
}
