import { useState } from 'react'
import { api, write } from '../../api/client.ts'
import { Badge } from '../../parts/cells.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { Outcome, TextField } from '../../parts/form.tsx'
import { Aside, PageHeader } from '../../parts/layout.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { plural } from '../../text/format.ts'
import type { Federation } from './federation-records.ts'
import { useRole } from './role.ts'

/** Splits at commas, and removes duplicates. Ids of organizations may contain spaces. */
const namesIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
]

const Invite = ({ federation }: { readonly federation: Federation }) => {
  const [text, setText] = useState('')
  const names = namesIn(text)
  const params = { path: { federation_id: federation.id } }
  return (
    <FormDialog
      title={`Invite to ${federation.name}`}
      verb={`Invite ${plural(names.length, 'organization')}`}
      disabled={names.length === 0}
      act={() => write(api.POST('/api/v1/federations/{federation_id}/invite', { params, body: { org_ids: names } }))}
    >
      <TextField
        label="Organizations"
        name="org_ids"
        hint="Ids, separated by commas"
        required
        value={text}
        onChange={setText}
      />
      <Outcome>
        {names.length === 0
          ? 'The organizations that you invite can see this federation and join it.'
          : `${names.join(', ')} will see this federation and may join it. They share nothing before they join.`}
      </Outcome>
    </FormDialog>
  )
}

const Join = ({ federation, own }: { readonly federation: Federation; readonly own: string | null }) => {
  const [org, setOrg] = useState(own ?? '')
  const params = { path: { federation_id: federation.id } }
  return (
    <FormDialog
      title={`Join ${federation.name}`}
      verb="Join"
      act={() => write(api.POST('/api/v1/federations/{federation_id}/join', { params, body: { org_id: org } }))}
    >
      {own === null && (
        <TextField label="Organization" name="org_id" required maxLength={128} value={org} onChange={setOrg} />
      )}
      <Outcome>
        {`Devices of ${org || 'the organization'} can be selected for the federation’s rounds, the members see statistics over groups of at least five devices, and ${org || 'the organization'} can read the shared models.`}
      </Outcome>
    </FormDialog>
  )
}

const Membership = ({ federation }: { readonly federation: Federation }) => {
  const { own, isOwner, isInvited } = useRole(federation)
  const { membership } = federation
  return (
    <>
      {membership && <Badge state={isInvited ? 'invited' : membership.role} tone={isInvited ? 'warn' : 'good'} />}
      <Aside>
        {isOwner && (
          <DialogButton needs="training:write" dialog={<Invite federation={federation} />}>
            Invite
          </DialogButton>
        )}
        {(isInvited || own === null) && (
          <DialogButton needs="training:write" tone="primary" dialog={<Join federation={federation} own={own} />}>
            Join
          </DialogButton>
        )}
      </Aside>
    </>
  )
}

/** The header of a federation's pages: this organization's role and available actions, once it is loaded. */
export const FederationHeader = ({ federation }: { readonly federation: Federation | undefined }) => (
  <>
    <PageHeader title={federation?.name ?? 'Federation'} up={{ href: '/federations', label: 'Federations' }}>
      {federation && <Membership federation={federation} />}
    </PageHeader>
    {federation && (
      <Tabs
        label="Federation"
        tabs={[
          [`/federations/${federation.id}`, 'Members and privacy'],
          [`/federations/${federation.id}/analytics`, 'Analytics'],
        ]}
      />
    )}
  </>
)
