import { signIn } from '../api/session.ts'
import { Button } from '../parts/layout.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Asks before a link signs this browser in: whoever made it could be somebody else, who wants it to work for them. */
export const SignInLink = ({ code, onDone }: { readonly code: string; readonly onDone: () => void }) => (
  <SignInForm
    title="Sign in this browser?"
    verb="Sign in"
    act={async () => {
      await signIn({ code })
      onDone()
    }}
    after={<Button onClick={onDone}>Not now</Button>}
  >
    <p>A link signs it in with the key of whoever made it. Go on only if you have just run svc dashboard yourself.</p>
  </SignInForm>
)
