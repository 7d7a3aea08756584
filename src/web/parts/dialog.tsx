import {
  type ComponentProps,
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { useLocation } from 'wouter'
import { observable } from '../api/observable.ts'
import styles from './dialog.module.css'
import { FieldFault, faultOf } from './field-fault.ts'
import { Fields, TextField } from './form.tsx'
import { Button, Problem } from './layout.tsx'
import { Modal } from './modal.tsx'
import { onSubmit, useAction } from './use-action.ts'

interface DialogProps {
  readonly title: string
  /** Needed only if no `DialogButton` opened it. */
  readonly onClose?: (() => void) | undefined
  /** What closes it besides its own buttons: `any` includes clicks outside, `closerequest` only Esc, `none` nothing. */
  readonly closedby?: 'any' | 'closerequest' | 'none'
  readonly children: ReactNode
}

/** Keeps the dialog open while a request is in progress, to show its result. */
const Held = createContext<RefObject<boolean>>({ current: false })

/** Closes the dialog. */
const Close = createContext<() => void>(() => undefined)

/** True if the button that opened the dialog, and its subject, are no longer on the page. */
const Gone = createContext(false)

/** A modal dialog with a heading. */
export const Dialog = ({ title, onClose, closedby = 'any', children }: DialogProps) => {
  const held = useRef(false)
  const heading = useId()
  const isGone = useContext(Gone)
  const opened = useContext(Close)
  const close = onClose ?? opened
  const ask = (): void => {
    if (closedby !== 'none' && !held.current) close()
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
      <Held value={held}>
        <Close value={close}>{children}</Close>
      </Held>
    </Modal>
  )
}

export const CloseButton = () => <Button onClick={useContext(Close)}>Close</Button>

interface OpenDialog {
  readonly id: string
  readonly dialog: ReactNode
  readonly isGone: boolean
}

const openDialogs = observable<readonly OpenDialog[]>([])
let opened = 0

const closeDialog = (id: string): void => openDialogs.set(openDialogs.get().filter((each) => each.id !== id))

/** Shows the dialogs of all buttons, so that a dialog outlives the row of a table with its button. Another page closes them. */
export const DialogHost = (): ReactNode => {
  const [path] = useLocation()
  // At once: an effect that runs later could close a dialog of the new page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each path
  useLayoutEffect(() => () => openDialogs.set([]), [path])
  return openDialogs.use().map(({ id, dialog, isGone }) => (
    <Gone key={id} value={isGone}>
      <Close value={() => closeDialog(id)}>{dialog}</Close>
    </Gone>
  ))
}

type ButtonProps = ComponentProps<typeof Button>

/** A button that opens a dialog. */
export const DialogButton = ({ dialog, ...button }: ButtonProps & { readonly dialog: ReactNode }) => {
  const [id] = useState(() => `dialog ${opened++}`)
  const change = (change: Partial<OpenDialog>): void =>
    openDialogs.set(openDialogs.get().map((each) => (each.id === id ? { ...each, ...change } : each)))
  const isOpen = (): boolean => openDialogs.get().some((each) => each.id === id)
  const open = (): void => {
    if (!isOpen()) openDialogs.set([...openDialogs.get(), { id, dialog, isGone: false }])
  }
  // The dialog shows what the page shows now.
  useLayoutEffect(() => {
    if (isOpen()) change({ dialog })
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
  readonly children: ReactNode
}

/** A form in a dialog, with buttons to send and cancel. */
export const SendForm = ({ verb, tone = 'primary', disabled = false, act, children }: Sending) => {
  const close = useContext(Close)
  const { busy, error, run, forget } = useAction()
  const held = useContext(Held)
  const form = useRef<HTMLFormElement>(null)
  const fault = error && faultOf(error.message, form.current)
  const send = async (): Promise<void> => {
    held.current = true
    try {
      await act()
    } finally {
      held.current = false
    }
    close()
  }
  return (
    <form ref={form} className={styles.form} onSubmit={onSubmit(() => run(send))} onInvalidCapture={forget}>
      <FieldFault value={fault}>{children}</FieldFault>
      {error && fault === null && <Problem error={error} />}
      <div className={styles.actions}>
        <Button disabled={busy} onClick={close}>
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
  <Dialog title={title} closedby="closerequest">
    <SendForm {...sending}>
      <Fields>{children}</Fields>
    </SendForm>
  </Dialog>
)

/** Normalizes spaces, because people cannot see how many there are. */
const seen = (name: string): string => name.trim().replace(/\s+/g, ' ')

interface ConfirmProps extends Omit<Sending, 'disabled'> {
  readonly title: string
  readonly name?: string
}

/** Asks to confirm an irreversible action. `children` describe its effect and number of devices; a `name` must be typed. */
export const Confirm = ({ title, name, tone = 'danger', children, ...sending }: ConfirmProps) => {
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={title} closedby="closerequest">
      <SendForm {...sending} tone={tone} disabled={name !== undefined && seen(typed) !== seen(name)}>
        <div>{children}</div>
        {name !== undefined && <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} />}
      </SendForm>
    </Dialog>
  )
}

/** A button that asks to confirm an action; it says the action's verb, unless `button` says something else. */
export const ConfirmButton = ({ button, ...confirm }: ConfirmProps & { readonly button: ButtonProps }) => (
  <DialogButton {...button} dialog={<Confirm {...confirm} />}>
    {button.children ?? confirm.verb}
  </DialogButton>
)
