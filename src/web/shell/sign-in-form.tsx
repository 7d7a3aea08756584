import type { FormEvent, ReactNode } from 'react'
import { Button, Problem } from '../parts/layout.tsx'
import { useAction } from '../parts/use-action.ts'
import styles from './shell.module.css'

/** A form in the middle of the page that sends its fields; what went wrong is said in it. */
export const SignInForm = ({
  title,
  verb,
  act,
  children,
  after,
}: {
  readonly title: string
  readonly verb: string
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
    <main className={styles.signIn}>
      <form onSubmit={submit}>
        <h1>{title}</h1>
        {children}
        {error && <Problem error={error} />}
        <Button type="submit" tone="primary" disabled={busy}>
          {verb}
        </Button>
        {after}
      </form>
    </main>
  )
}

/** A button with something that may fail, which is said below it; it is given the form around it. */
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
