import { type ComponentProps, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import styles from './dialog.module.css'
import { Fields, TextField } from './form.tsx'
import { Button, Problem } from './layout.tsx'
import { useAction } from './use-action.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog over the page, as long as it is rendered; Esc and a click beside it ask to close it. */
export const Dialog = ({ title, onClose, children }: DialogProps) => {
  const box = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Closed while it is still in the page: the browser then puts the focus back.
  useLayoutEffect(() => {
    const element = box.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return createPortal(
    <dialog
      ref={box}
      className={styles.popup}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      {...{ closedby: 'any' }}
    >
      <h2 id={heading}>{title}</h2>
      {children}
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
  const { busy, error, run } = useAction()
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy) run(() => act().then(onClose))
      }}
    >
      {children}
      {error && <Problem error={error} />}
      <div className={styles.actions}>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone={tone} disabled={busy || disabled}>
          {verb}
        </Button>
      </div>
    </form>
  )
}

/** A dialog with fields to fill in and send. */
export const FormDialog = ({ title, children, ...sending }: Sending & { readonly title: string }) => (
  <Dialog title={title} onClose={sending.onClose}>
    <SendForm {...sending}>
      <Fields>{children}</Fields>
    </SendForm>
  </Dialog>
)

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
    <Dialog title={title} onClose={sending.onClose}>
      <SendForm {...sending} tone={tone} disabled={name !== undefined && typed !== name}>
        <div>{children}</div>
        {name !== undefined && <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />}
      </SendForm>
    </Dialog>
  )
}
