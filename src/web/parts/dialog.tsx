import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useState } from 'react'
import styles from './dialog.module.css'
import { Button, Problem } from './layout.tsx'

/** A dialog over the page; Esc and a click beside it close it. */
export const Dialog = ({
  title,
  open,
  onClose,
  children,
}: {
  readonly title: string
  readonly open: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}) => (
  <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
    <Base.Portal>
      <Base.Backdrop className={styles.backdrop} />
      <Base.Popup className={styles.popup}>
        <Base.Title>{title}</Base.Title>
        {children}
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
)

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
