import { useState } from 'react'
import type { components } from '../../../client/api.gen.ts'
import { unwrap } from '../../../client/client.ts'
import { api } from '../../api/client.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Button, Problem } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'

type Verification = components['schemas']['AuditVerification']
type Chain = Verification['chains'][number]

const COLUMNS: readonly Column<Chain>[] = [
  { name: 'Organization', cell: ({ org_id }) => org_id ?? 'none' },
  { name: 'Entries', number: true, cell: ({ entries }) => count(entries) },
  { name: 'Found', cell: ({ valid, fault, fault_seq }) => (valid ? 'intact' : `entry ${fault_seq}: ${fault}`) },
]

/** Recomputes the hash chains. A tail that was cut is seen only with heads that were kept elsewhere: `svc audit verify --heads`. */
export const VerifyAudit = () => {
  const [busy, setBusy] = useState(false)
  const [found, setFound] = useState<Verification | Error | null>(null)
  const verify = async (): Promise<void> => {
    setBusy(true)
    setFound(await unwrap(await api.POST('/api/v1/audit/verify', { body: {} })).catch((error: Error) => error))
    setBusy(false)
  }
  const close = () => setFound(null)
  return (
    <>
      <Button needs="admin" disabled={busy} onClick={() => void verify()}>
        Verify
      </Button>
      {found !== null && (
        <Dialog title="The audit log" onClose={close}>
          {found instanceof Error ? (
            <Problem error={found} />
          ) : (
            <>
              <p>{found.valid ? 'Every entry fits the one before it.' : 'The log was changed.'}</p>
              <Table label="Chains" columns={COLUMNS} rows={found.chains} rowKey={({ org_id }) => org_id ?? ''} />
            </>
          )}
          <Button onClick={close}>Close</Button>
        </Dialog>
      )}
    </>
  )
}
