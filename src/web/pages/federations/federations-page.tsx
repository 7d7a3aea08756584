import { Link, useLocation } from 'wouter'
import { shellWord } from '../../../domain/shell-word.ts'
import { api, write } from '../../api/client.ts'
import { useOwnOrg } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { TextField, useFields } from '../../parts/form.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage, pageQuery, usePager } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, NONE } from '../../text/format.ts'
import { type Federation, OTHERS } from './federation-records.ts'

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

const CreateFederation = ({ own }: { readonly own: string | null }) => {
  const [, navigate] = useLocation()
  const [body, field] = useFields({ name: '', org_id: own ?? '', description: '' })
  return (
    <FormDialog
      title="Create a federation"
      verb="Create"
      act={async () => {
        const { id } = await write(api.POST('/api/v1/federations', { body }))
        navigate(`/federations/${id}`)
      }}
    >
      <TextField label="Name" required maxLength={128} {...field('name')} />
      {own === null && (
        <TextField
          label="Owner"
          hint="The organization that invites others and sets the privacy budget"
          required
          maxLength={128}
          {...field('org_id')}
        />
      )}
      <TextField label="Description" maxLength={512} {...field('description')} />
    </FormDialog>
  )
}

/** Groups of organizations that train together. */
export const FederationsPage = () => {
  const own = useOwnOrg()
  const pager = usePager()
  return (
    <ListPage
      {...pager}
      title="Federations"
      noun="federation"
      query={useApi('/api/v1/federations', { query: pageQuery(pager.page) }, OTHERS)}
      actions={
        <DialogButton needs="training:write" tone="primary" dialog={<CreateFederation own={own} />}>
          Create federation
        </DialogButton>
      }
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
