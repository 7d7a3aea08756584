import type { ReactNode } from 'react'
import { observable } from '../api/observable.ts'
import { CopyButton } from './cells.tsx'
import { Dialog } from './dialog.tsx'
import { Button } from './layout.tsx'

/** A secret that cannot be retrieved again. */
interface Secret {
  readonly title: string
  readonly what: string
  /** Several codes are one per line. */
  readonly text: string
  readonly says: string
  /** The label of the button that closes the dialog. */
  readonly verb?: string
  readonly onClose?: () => void
}

const secrets = observable<readonly Secret[]>([])

/** Shows a secret until the user confirms having saved it, regardless of the page that requested it. */
export const showOnce = (secret: Secret): void => secrets.set([...secrets.get(), secret])

/** Shows the secrets. Render it outside all components that refetched data can unmount. */
export const ShownOnce = (): ReactNode => {
  const [secret] = secrets.use()
  if (secret === undefined) return null
  const { title, what, text, says, verb = 'Done', onClose } = secret
  const close = (): void => {
    secrets.set(secrets.get().slice(1))
    onClose?.()
  }
  return (
    <Dialog key={text} title={title} closedby="none" onClose={close}>
      <p>{says}</p>
      <p>
        {text.split('\n').map((line) => (
          <span key={line}>
            <code>{line}</code>{' '}
          </span>
        ))}
        <CopyButton text={text} what={what} />
      </p>
      <div>
        <Button tone="primary" onClick={close}>
          {verb}
        </Button>
      </div>
    </Dialog>
  )
}
