import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { shellWord } from '../../../domain/shell-word.ts'
import { api, write } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage, pageQuery } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, NONE } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { type Federation, OTHERS } from './federation-records.ts'

const DEFAULTS = { page: 1 }

const COLUMNS: readonly Column<Federation>[] = [
  { name: 'Federation', cell: ({ id, name }) => <Link href={`/federations/${id}`}>{name}</Link> },
  { name: 'Owner', cell: ({ org_id }) => org_id },
  {
    name: 'Your role',
    cell: ({ membership }) =>
      membership === null ? (
        NONE
      ) : (
        <Badge
          state={membership.status === 'invited' ? 'invited' : membership.role}
          tone={membership.status === 'invited' ? 'warn' : 'good'}
        />
      ),
  },
  { name: 'Members', number: true, cell: ({ member_count }) => count(member_count) },
  { name: 'Description', cell: ({ description }) => description },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const CreateFederation = ({ own, onClose }: { readonly own: string | null; readonly onClose: () => void }) => {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [org, setOrg] = useState(own ?? '')
  const [description, setDescription] = useState('')
  return (
    <FormDialog
      title="Create a federation"
      verb="Create"
      onClose={onClose}
      act={async () => {
        const { id } = await write(api.POST('/api/v1/federations', { body: { name, org_id: org, description } }))
        navigate(`/federations/${id}`)
      }}
    >
      <TextField label="Name" name="name" required maxLength={128} value={name} onChange={setName} />
      {own === null && (
        <TextField
          label="Owner"
          name="org_id"
          hint="The organization that invites others and sets the privacy budget"
          required
          maxLength={128}
          value={org}
          onChange={setOrg}
        />
      )}
      <TextField label="Description" name="description" maxLength={512} value={description} onChange={setDescription} />
    </FormDialog>
  )
}

/** Groups of organizations that train together. */
export const FederationsPage = () => {
  const session = useSession()
  const own = session.data?.org_id ?? null
  const [{ page }, change] = usePageState(DEFAULTS)
  return (
    <ListPage
      title="Federations"
      noun="federation"
      query={useApi('/api/v1/federations', { query: pageQuery(page) }, OTHERS)}
      actions={
        <DialogButton
          needs="training:write"
          tone="primary"
          dialog={(close) => <CreateFederation own={own} onClose={close} />}
        >
          Create federation
        </DialogButton>
      }
      page={page}
      onPage={(next) => change({ page: next })}
      columns={COLUMNS}
      rows={({ federations }) => federations}
      rowKey="id"
      empty={
        <Empty
          title="No federations yet"
          command={`svc federation create my-federation --org ${shellWord(own ?? 'my-org')}`}
        >
          Members of a federation train together and share models and one privacy budget. Create one here, or with:
        </Empty>
      }
    />
  )
}
