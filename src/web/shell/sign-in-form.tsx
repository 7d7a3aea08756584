import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef } from 'react'
import { Button, Problem } from '../parts/layout.tsx'
import { onSubmit, useAction } from '../parts/use-action.ts'
import styles from './shell.module.css'

/** The form is shown over a page, which has its own main landmark. */
export const OverPage = createContext(false)

/** The container of a sign-in form. */
export const SignInFrame = ({ children }: { readonly children: ReactNode }) => {
  const Frame = useContext(OverPage) ? 'div' : 'main'
  return <Frame className={styles.signIn}>{children}</Frame>
}

/** The first form of a loaded page is read from the page's beginning. */
let isFirst = true

/** True if the focus is where the browser puts it when a control is gone or a dialog opens. */
const isLost = (box: HTMLElement): boolean => {
  const { activeElement: active } = document
  return active === null || active === document.body || active.contains(box) || active === box.querySelector('h1')
}

/** Focuses the first field of a form that replaces another or covers a page, as soon as it has one; until then, its heading. */
const useArrival = (form: RefObject<HTMLFormElement | null>): void => {
  const isOver = useContext(OverPage)
  const seen = useRef<Element | null>(null)
  const isCalm = useRef(isFirst && !isOver)
  useEffect(() => {
    isFirst = false
    const box = form.current
    const target = box?.querySelector<HTMLElement>('input:not([type="hidden"])') ?? box?.querySelector('h1') ?? null
    if (box === null || target === null || target === seen.current) return
    // A dialog focuses the first button that it opens with.
    const isNew = seen.current === null && isOver
    seen.current = target
    if (!isCalm.current && (isLost(box) || (isNew && box.contains(document.activeElement)))) target.focus()
  })
}

interface SignInFormProps {
  readonly title: string
  readonly verb?: string | undefined
  readonly act: (fields: FormData) => Promise<unknown>
  readonly children: ReactNode
  readonly after?: ReactNode
}

/** A centered form that sends its fields and shows errors. Without `verb`, it has no button. */
export const SignInForm = ({ title, verb, act, children, after }: SignInFormProps) => {
  const { busy, error, run } = useAction()
  const form = useRef<HTMLFormElement>(null)
  useArrival(form)
  const submit = onSubmit((sent) => {
    const fields = new FormData(sent)
    run(() => act(fields))
  })
  return (
    <SignInFrame>
      <form ref={form} onSubmit={submit}>
        <h1 tabIndex={-1}>{title}</h1>
        {children}
        {error && <Problem error={error} />}
        {verb !== undefined && (
          <Button type="submit" tone="primary" disabled={busy}>
            {verb}
          </Button>
        )}
        {after}
      </form>
    </SignInFrame>
  )
}

interface TryButtonProps {
  readonly act: (form: HTMLFormElement | null) => Promise<unknown>
  readonly children: ReactNode
}

/** A button for an action that may fail, with the error below; the action gets the surrounding form. */
export const TryButton = ({ act, children }: TryButtonProps) => {
  const { busy, error, run } = useAction()
  return (
    <>
      <Button disabled={busy} onClick={({ currentTarget: { form } }) => run(() => act(form))}>
        {children}
      </Button>
      {error && <Problem error={error} />}
    </>
  )
}
