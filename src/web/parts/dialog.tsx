import {
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  type RefObject,
  useContext,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import styles from './dialog.module.css'
import { FieldFault, faultOf } from './field-fault.ts'
import { Fields, TextField } from './form.tsx'
import { Button, Problem } from './layout.tsx'
import { useAction } from './use-action.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** What else closes it than its own buttons: a click beside it too, or Esc alone, or nothing. */
  readonly closedby?: 'any' | 'closerequest' | 'none'
  readonly children: ReactNode
}

/** While something is sent, the dialog stays: what comes of it is told in it. */
const Held = createContext<RefObject<boolean>>({ current: false })

/** A dialog over the page, as long as it is rendered. */
export const Dialog = ({ title, onClose, closedby = 'any', children }: DialogProps) => {
  const box = useRef<HTMLDialogElement>(null)
  const held = useRef(false)
  const heading = useId()
  // Closed while it is still in the page: the browser then puts the focus back.
  useLayoutEffect(() => {
    const element = box.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const ask = (): void => {
    if (closedby !== 'none' && !held.current) onClose()
  }
  return createPortal(
    <dialog
      ref={box}
      className={styles.popup}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        ask()
      }}
      // Browsers heed a second Esc in any case.
      onClose={({ currentTarget }) => {
        if (currentTarget.open || !currentTarget.isConnected) return
        currentTarget.showModal()
        ask()
      }}
      {...{ closedby }}
    >
      <h2 id={heading}>{title}</h2>
      <Held value={held}>{children}</Held>
    </dialog>,
    document.body,
  )
}

/** A button, and the dialog that it opens. */
export const DialogButton = ({
  dialog,
  ...button
}: ComponentProps<typeof Button> & { readonly dialog: (close: () => void) => ReactNode }) => {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {open && dialog(() => setOpen(false))}
    </>
  )
}

interface Sending {
  readonly verb: string
  readonly tone?: 'primary' | 'danger'
  readonly disabled?: boolean
  /** May fail: the reason is shown, and the form stays. */
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A form in a dialog, with the two ways out of it. */
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

/** A dialog with fields to fill in and send. A click beside it loses nothing. */
export const FormDialog = ({ title, children, ...sending }: Sending & { readonly title: string }) => (
  <Dialog title={title} closedby="closerequest" onClose={sending.onClose}>
    <SendForm {...sending}>
      <Fields>{children}</Fields>
    </SendForm>
  </Dialog>
)

/** As people see it: of spaces, how many there are cannot be told. */
const seen = (name: string): string => name.trim().replace(/\s+/g, ' ')

/** Asks before something that cannot be undone. `children` say what will happen, and to how many devices; with `name` it has to be typed. */
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
