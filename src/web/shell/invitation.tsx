import { useQuery } from '@tanstack/react-query'
import { unwrap } from '../../client/client.ts'
import { api } from '../api/client.ts'
import { Loaded } from '../parts/layout.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Where an invited person makes their account. */
export const Invitation = ({ token, onDone }: { readonly token: string; readonly onDone: (email: string) => void }) => {
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: async () => unwrap(await api.POST('/api/v1/invitations/read', { body: { token } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const accept = async (fields: FormData, email: string): Promise<void> => {
    const name = String(fields.get('name')).trim()
    const body = { token, password: String(fields.get('password')), ...(name !== '' && { name }) }
    await unwrap(await api.POST('/api/v1/invitations/accept', { body }))
    onDone(email)
  }
  if (invitation.error !== null) {
    return (
      <SignInForm title="Invitation" verb="Sign in" act={async () => onDone('')}>
        <p role="alert">{invitation.error.message}</p>
      </SignInForm>
    )
  }
  if (invitation.data === undefined) return <Loaded query={invitation}>{() => null}</Loaded>
  const { org_id, email, role } = invitation.data
  return (
    <SignInForm title={`Join ${org_id}`} verb="Join" act={(fields) => accept(fields, email)}>
      <p>
        You are invited as {role}. Your account will be {email}.
      </p>
      <input type="hidden" name="email" autoComplete="username" value={email} readOnly />
      <label>
        Name
        <input name="name" maxLength={128} autoComplete="name" />
      </label>
      <label>
        Password, at least 12 characters
        <input name="password" type="password" required minLength={12} maxLength={256} autoComplete="new-password" />
      </label>
    </SignInForm>
  )
}
