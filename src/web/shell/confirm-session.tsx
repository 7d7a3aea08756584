import { confirmSession, type Session } from '../api/session.ts'
import { SignInForm } from './sign-in-form.tsx'

/** After a while without use: who is there, still the same person? */
export const ConfirmSession = ({ person }: { readonly person: NonNullable<Session['person']> }) => (
  <SignInForm title="Still you?" verb="Go on" act={(fields) => confirmSession(String(fields.get('password')))}>
    <p>You are signed in as {person.email}. Your organization asks for the password again after a while without use.</p>
    <input type="hidden" name="email" autoComplete="username" value={person.email} readOnly />
    <label>
      Password
      <input name="password" type="password" required maxLength={256} autoComplete="current-password" />
    </label>
  </SignInForm>
)
