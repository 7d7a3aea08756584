import { useState } from 'react'
import { ROLES, type Role } from '../../../domain/roles.ts'
import { api } from '../../api/client.ts'
import { write } from '../../api/write.ts'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, SelectField, TextField } from '../../parts/form.tsx'
import { capital } from '../../text/format.ts'

export const ROLE_OPTIONS = ROLES.map((role) => [role, capital(role)] as const)

export const InviteMember = ({
  onMade,
  onClose,
}: {
  readonly onMade: (link: string) => void
  readonly onClose: () => void
}) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const invite = async (): Promise<void> =>
    onMade((await write(api.POST('/api/v1/team', { body: { email, role } }))).link)
  return (
    <Dialog title="Invite somebody" open onClose={onClose}>
      <SendForm verb="Invite" tone="primary" act={invite} onClose={onClose}>
        <Fields>
          <TextField
            label="Email"
            inputMode="email"
            autoComplete="off"
            required
            maxLength={254}
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
        </Fields>
      </SendForm>
    </Dialog>
  )
}
