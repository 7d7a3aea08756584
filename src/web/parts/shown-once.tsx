import type { ReactNode } from 'react'
import { CopyButton } from './cells.tsx'
import { Dialog } from './dialog.tsx'
import { Button } from './layout.tsx'

/** A secret that nothing shows again: it stays until somebody says that they have it. */
export const ShownOnce = ({
  title,
  what,
  text,
  children,
  onClose,
}: {
  readonly title: string
  readonly what: string
  readonly text: string
  readonly children: ReactNode
  readonly onClose: () => void
}) => (
  <Dialog title={title} closedby="none" onClose={onClose}>
    <p>{children}</p>
    <p>
      <code>{text}</code> <CopyButton text={text} what={what} />
    </p>
    <div>
      <Button tone="primary" onClick={onClose}>
        Done
      </Button>
    </div>
  </Dialog>
)
