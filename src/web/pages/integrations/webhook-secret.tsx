import { CopyButton } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Button } from '../../parts/layout.tsx'

/** The secret of a webhook, which nothing shows again. */
export const WebhookSecret = ({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) => (
  <Dialog title="The webhook’s secret" open onClose={onClose}>
    <p>The receiver checks signatures with it. It is shown only here.</p>
    <p>
      <code>{secret}</code> <CopyButton text={secret} what="secret" />
    </p>
    <Button tone="primary" onClick={onClose}>
      Done
    </Button>
  </Dialog>
)
