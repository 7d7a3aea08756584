import { ROLES, type Role } from '../../../domain/roles.ts'
import { api, write } from '../../api/client.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { SelectField, TextField, useFields } from '../../parts/form.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import { capital } from '../../text/format.ts'

export const ROLE_OPTIONS = ROLES.map((role) => [role, capital(role)] as const)

export const InviteMember = () => {
  const [body, field] = useFields({ email: '', role: 'member' as Role })
  const invite = async (): Promise<void> => {
    const { link } = await write(api.POST('/api/v1/team', { body }))
    const says = 'Send this link to the person you invited. It works once, for 7 days, and is shown only once.'
    showOnce({ title: 'The invitation', what: 'link', text: link, says })
  }
  return (
    <FormDialog title="Invite a person" verb="Invite" act={invite}>
      <TextField label="Email" inputMode="email" required maxLength={254} {...field('email')} />
      <SelectField label="Role" options={ROLE_OPTIONS} {...field('role')} />
    </FormDialog>
  )
}
