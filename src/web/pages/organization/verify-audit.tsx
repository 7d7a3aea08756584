import { useState } from 'react'
import type { components } from '../../../client/api.gen.ts'
import { unwrap } from '../../../client/client.ts'
import { api } from '../../api/client.ts'
import { CloseButton, Dialog } from '../../parts/dialog.tsx'
import { Button, Problem } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useAction } from '../../parts/use-action.ts'
import { count } from '../../text/format.ts'

type Verification = components['schemas']['AuditVerification']
type Chain = Verification['chains'][number]

const COLUMNS: readonly Column<Chain>[] = [
  { name: 'Organization', cell: ({ org_id }) => org_id ?? 'none' },
  { name: 'Entries', number: true, cell: ({ entries }) => count(entries) },
  { name: 'Found', cell: ({ valid, fault, fault_seq }) => (valid ? 'intact' : `entry ${fault_seq}: ${fault}`) },
]

/** Recomputes the hash chains. Only heads stored elsewhere can detect a truncated log: `svc audit verify --heads`. */
export const VerifyAudit = () => {
  const [found, setFound] = useState<Verification | null>(null)
  const { busy, error, run, forget } = useAction()
  const verify = async (): Promise<void> => setFound(await unwrap(api.POST('/api/v1/audit/verify', { body: {} })))
  const close = (): void => {
    setFound(null)
    forget()
  }
  return (
    <>
      <Button needs="admin" disabled={busy} onClick={() => run(verify)}>
        Verify
      </Button>
      {(found !== null || error !== null) && (
        <Dialog title="The audit log" onClose={close}>
          {error && <Problem error={error} />}
          {found && (
            <>
              <p>{found.valid ? 'Every entry fits the one before it.' : 'The log was changed.'}</p>
              <Table label="Chains" columns={COLUMNS} rows={found.chains} rowKey={({ org_id }) => org_id ?? ''} />
            </>
          )}
          <CloseButton />
        </Dialog>
      )}
    </>
  )
}
