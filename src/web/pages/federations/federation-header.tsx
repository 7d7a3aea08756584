import { useState } from 'react'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Badge } from '../../parts/badge.tsx'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, Outcome, TextField } from '../../parts/form.tsx'
import { Aside, Button, PageHeader } from '../../parts/layout.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { plural } from '../../text/format.ts'
import { useRole } from './role.ts'
import type { Federation } from './types.ts'

/** Names separated by commas or spaces, each once. */
const namesIn = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]

const Invite = ({ federation, onClose }: { readonly federation: Federation; readonly onClose: () => void }) => {
  const [text, setText] = useState('')
  const names = namesIn(text)
  return (
    <Dialog title={`Invite to ${federation.name}`} open onClose={onClose}>
      <SendForm
        verb={`Invite ${plural(names.length, 'organization')}`}
        tone="primary"
        disabled={names.length === 0}
        onClose={onClose}
        act={() =>
          write(
            api.POST('/api/v1/federations/{federation_id}/invite', {
              params: { path: { federation_id: federation.id } },
              body: { org_ids: names },
            }),
          )
        }
      >
        <Fields>
          <TextField
            label="Organizations"
            hint="Ids, separated by commas"
            required
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <Outcome>
            {names.length === 0
              ? 'Whom you invite sees this federation, and may join it.'
              : `${names.join(', ')} will see this federation, and may join it. Nothing of theirs is shared before.`}
          </Outcome>
        </Fields>
      </SendForm>
    </Dialog>
  )
}

const Join = ({
  federation,
  own,
  onClose,
}: {
  readonly federation: Federation
  readonly own: string | null
  readonly onClose: () => void
}) => {
  const [org, setOrg] = useState(own ?? '')
  return (
    <Dialog title={`Join ${federation.name}`} open onClose={onClose}>
      <SendForm
        verb="Join"
        tone="primary"
        onClose={onClose}
        act={() =>
          write(
            api.POST('/api/v1/federations/{federation_id}/join', {
              params: { path: { federation_id: federation.id } },
              body: { org_id: org },
            }),
          )
        }
      >
        <Fields>
          {own === null && (
            <TextField
              label="Organization"
              required
              maxLength={128}
              value={org}
              onChange={(event) => setOrg(event.target.value)}
            />
          )}
          <Outcome>
            {`Devices of ${org === '' ? 'the organization' : org} may be drawn for the federation’s rounds, its members see statistics over them, never of fewer than five devices, and it may read the shared models.`}
          </Outcome>
        </Fields>
      </SendForm>
    </Dialog>
  )
}

/** The head of a federation's pages: what this organization is in it, and what it can do about that. */
export const FederationHeader = ({ federation }: { readonly federation: Federation }) => {
  const { own, isOwner, isInvited } = useRole(federation)
  const [asking, setAsking] = useState<'invite' | 'join' | null>(null)
  const { id, name, membership } = federation
  const close = (): void => setAsking(null)
  return (
    <>
      <PageHeader title={name} up={{ href: '/federations', label: 'Federations' }}>
        {membership && <Badge state={isInvited ? 'invited' : membership.role} tone={isInvited ? 'warn' : 'good'} />}
        <Aside>
          {isOwner && <Button onClick={() => setAsking('invite')}>Invite</Button>}
          {(isInvited || own === null) && (
            <Button tone="primary" onClick={() => setAsking('join')}>
              Join
            </Button>
          )}
        </Aside>
      </PageHeader>
      <Tabs
        label="Federation"
        tabs={[
          [`/federations/${id}`, 'Members and privacy'],
          [`/federations/${id}/analytics`, 'Analytics'],
        ]}
      />
      {asking === 'invite' && <Invite federation={federation} onClose={close} />}
      {asking === 'join' && <Join federation={federation} own={own} onClose={close} />}
    </>
  )
}
