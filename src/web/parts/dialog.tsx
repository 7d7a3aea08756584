import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import styles from './dialog.module.css'
import { Button, Problem } from './layout.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

const OpenDialog = ({ title, onClose, children }: DialogProps) => {
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

/** A dialog over the page; Esc and a click beside it close it. */
export const Dialog = ({ open, ...rest }: DialogProps & { readonly open: boolean }) => open && <OpenDialog {...rest} />

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
export const SendForm = ({ verb, tone = 'danger', disabled = false, act, onClose, children }: Sending) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = (): void => {
    setBusy(true)
    setError(null)
    act().then(onClose, (failure: unknown) => {
      setBusy(false)
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    })
  }
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy) run()
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

/** Asks before something that cannot be undone. `children` say what will happen, and to how many devices; with `name` it has to be typed. */
export const Confirm = ({
  title,
  name,
  children,
  ...sending
}: Omit<Sending, 'disabled'> & { readonly title: string; readonly name?: string }) => {
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={title} open onClose={sending.onClose}>
      <SendForm {...sending} disabled={name !== undefined && typed !== name}>
        <div>{children}</div>
        {name !== undefined && (
          <label className={styles.field}>
            Type {name} to confirm
            <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
        )}
      </SendForm>
    </Dialog>
  )
}
