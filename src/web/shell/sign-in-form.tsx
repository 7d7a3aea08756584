import { createContext, type FormEvent, type ReactNode, useContext } from 'react'
import { Button, Problem } from '../parts/layout.tsx'
import { useAction } from '../parts/use-action.ts'
import styles from './shell.module.css'

/** The form is shown over a page, which has its own main landmark. */
export const OverPage = createContext(false)

/** The container of a sign-in form. */
export const SignInFrame = ({ children }: { readonly children: ReactNode }) => {
  const Frame = useContext(OverPage) ? 'div' : 'main'
  return <Frame className={styles.signIn}>{children}</Frame>
}

/** A centered form that sends its fields and shows errors. Without `verb`, it has no button. */
export const SignInForm = ({
  title,
  verb,
  act,
  children,
  after,
}: {
  readonly title: string
  readonly verb?: string | undefined
  readonly act: (fields: FormData) => Promise<unknown>
  readonly children: ReactNode
  readonly after?: ReactNode
}) => {
  const { busy, error, run } = useAction()
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    run(() => act(fields))
  }
  return (
    <SignInFrame>
      <form onSubmit={submit}>
        <h1>{title}</h1>
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

/** A button for an action that may fail, with the error below; the action gets the surrounding form. */
export const TryButton = ({
  act,
  children,
}: {
  readonly act: (form: HTMLFormElement | null) => Promise<unknown>
  readonly children: ReactNode
}) => {
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
