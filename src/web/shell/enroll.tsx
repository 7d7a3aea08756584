import { checkSession, signOut } from '../api/session.ts'
import { Button } from '../parts/layout.tsx'
import { PasskeySetup } from './passkey-setup.tsx'
import styles from './shell.module.css'
import { TotpSetup } from './totp-setup.tsx'

/** Where the organization requires a second factor, and there is none yet. */
export const Enroll = () => (
  <main className={styles.signIn}>
    <section>
      <h1>Set up a second factor</h1>
      <p>Your organization requires one before you go on.</p>
      <TotpSetup onDone={() => void checkSession()} />
      <PasskeySetup onDone={() => void checkSession()} />
      <Button onClick={() => void signOut()}>Sign out</Button>
    </section>
  </main>
)
