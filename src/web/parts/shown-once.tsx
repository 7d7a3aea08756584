import type { ReactNode } from 'react'
import { CopyButton } from './cells.tsx'
import { Dialog } from './dialog.tsx'
import { Button } from './layout.tsx'

/** A secret that nothing shows again. */
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
  <Dialog title={title} onClose={onClose}>
    <p>{children}</p>
    <p>
      <code>{text}</code> <CopyButton text={text} what={what} />
    </p>
    <Button tone="primary" onClick={onClose}>
      Done
    </Button>
  </Dialog>
)
