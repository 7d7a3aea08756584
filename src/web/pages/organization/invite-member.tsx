import { useState } from 'react'
import { ROLES, type Role } from '../../../domain/roles.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
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
    <FormDialog title="Invite a person" verb="Invite" act={invite} onClose={onClose}>
      <TextField
        label="Email"
        name="email"
        inputMode="email"
        required
        maxLength={254}
        value={email}
        onChange={setEmail}
      />
      <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
    </FormDialog>
  )
}
