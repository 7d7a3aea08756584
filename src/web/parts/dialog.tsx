import {
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { useLocation } from 'wouter'
import { observable } from '../api/observable.ts'
import { isGoingBack } from '../url/scroll-place.ts'
import styles from './dialog.module.css'
import { FieldFault, faultOf } from './field-fault.ts'
import { Fields, TextField } from './form.tsx'
import { Button, Problem } from './layout.tsx'
import { useAction } from './use-action.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** What closes it besides its own buttons: `any` includes clicks outside, `closerequest` only Esc, `none` nothing. */
  readonly closedby?: 'any' | 'closerequest' | 'none'
  readonly children: ReactNode
}

/** Keeps the dialog open while a request is in progress, to show its result. */
const Held = createContext<RefObject<boolean>>({ current: false })

/** True if the button that opened the dialog, and its subject, are no longer on the page. */
const Gone = createContext(false)

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
}: Omit<ComponentProps<'dialog'>, 'onClose'> & Pick<DialogProps, 'onClose'>) => {
  const box = useRef<HTMLDialogElement>(null)
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
        onClose()
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

/** A modal dialog with a heading. */
export const Dialog = ({ title, onClose, closedby = 'any', children }: DialogProps) => {
  const held = useRef(false)
  const heading = useId()
  const isGone = useContext(Gone)
  const ask = (): void => {
    if (closedby !== 'none' && !held.current) onClose()
  }
  return (
    <Modal className={styles.popup} aria-labelledby={heading} onClose={ask} {...{ closedby }}>
      <h2 id={heading}>{title}</h2>
      {isGone && !held.current && (
        <p role="status">
          This is no longer on the page: somebody may have changed or deleted it after you opened the dialog. Close the
          dialog to see what is there now.
        </p>
      )}
      <Held value={held}>{children}</Held>
    </Modal>
  )
}

interface OpenDialog {
  readonly id: string
  readonly render: () => ReactNode
  readonly isGone: boolean
}

const openDialogs = observable<readonly OpenDialog[]>([])
let opened = 0

/** Shows the dialogs of all buttons, so that a dialog outlives the row of a table with its button. Another page closes them. */
export const DialogHost = (): ReactNode => {
  const [path] = useLocation()
  // At once: an effect that runs later could close a dialog of the new page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each path
  useLayoutEffect(() => () => openDialogs.set([]), [path])
  return openDialogs.use().map(({ id, render, isGone }) => (
    <Gone key={id} value={isGone}>
      {render()}
    </Gone>
  ))
}

/** A button that opens a dialog. */
export const DialogButton = ({
  dialog,
  ...button
}: ComponentProps<typeof Button> & { readonly dialog: (close: () => void) => ReactNode }) => {
  const [id] = useState(() => `dialog ${opened++}`)
  const change = (change: Partial<OpenDialog>): void =>
    openDialogs.set(openDialogs.get().map((each) => (each.id === id ? { ...each, ...change } : each)))
  const close = (): void => openDialogs.set(openDialogs.get().filter((each) => each.id !== id))
  const isOpen = (): boolean => openDialogs.get().some((each) => each.id === id)
  const render = (): ReactNode => dialog(close)
  const open = (): void => {
    if (!isOpen()) openDialogs.set([...openDialogs.get(), { id, render, isGone: false }])
  }
  // The dialog shows what the page shows now.
  useLayoutEffect(() => {
    if (isOpen()) change({ render })
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: when it leaves the page
  useEffect(() => () => void (isOpen() && change({ isGone: true })), [])
  return <Button {...button} onClick={open} />
}

interface Sending {
  readonly verb: string
  readonly tone?: 'primary' | 'danger'
  readonly disabled?: boolean
  /** May fail: the form then stays open and shows the reason. */
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A form in a dialog, with buttons to send and cancel. */
export const SendForm = ({ verb, tone = 'primary', disabled = false, act, onClose, children }: Sending) => {
  const { busy, error, run, forget } = useAction()
  const held = useContext(Held)
  const form = useRef<HTMLFormElement>(null)
  const fault = error && faultOf(error.message, form.current)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    run(async () => {
      held.current = true
      try {
        await act()
      } finally {
        held.current = false
      }
      onClose()
    })
  }
  return (
    <form ref={form} className={styles.form} onSubmit={submit} onInvalidCapture={forget}>
      <FieldFault value={fault}>{children}</FieldFault>
      {error && fault === null && <Problem error={error} />}
      <div className={styles.actions}>
        <Button disabled={busy} onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" tone={tone} disabled={busy || disabled}>
          {verb}
        </Button>
      </div>
    </form>
  )
}

/** A dialog with a form. Clicks outside do not close it, so no input is lost. */
export const FormDialog = ({ title, children, ...sending }: Sending & { readonly title: string }) => (
  <Dialog title={title} closedby="closerequest" onClose={sending.onClose}>
    <SendForm {...sending}>
      <Fields>{children}</Fields>
    </SendForm>
  </Dialog>
)

/** Normalizes spaces, because people cannot see how many there are. */
const seen = (name: string): string => name.trim().replace(/\s+/g, ' ')

/** Asks to confirm an irreversible action. `children` describe its effect and number of devices; a `name` must be typed. */
export const Confirm = ({
  title,
  name,
  tone = 'danger',
  children,
  ...sending
}: Omit<Sending, 'disabled'> & { readonly title: string; readonly name?: string }) => {
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={title} closedby="closerequest" onClose={sending.onClose}>
      <SendForm {...sending} tone={tone} disabled={name !== undefined && seen(typed) !== seen(name)}>
        <div>{children}</div>
        {name !== undefined && <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />}
      </SendForm>
    </Dialog>
  )
}
