import { useState } from 'react'
import { unwrap } from '../../../client/client.ts'
import { api, writeWithoutBody } from '../../api/client.ts'
import { changeFactors } from '../../api/confirmation.ts'
import { askToConfirm, useSession } from '../../api/session.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { ConfirmButton, DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { CheckField, TextField, useFields } from '../../parts/form.tsx'
import { Button, Empty, Facts, Loaded, Panel, Problem, Quiet } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useAction } from '../../parts/use-action.ts'
import { showRecoveryCodes, TotpSetup } from '../../shell/totp-setup.tsx'
import { plural } from '../../text/format.ts'
import { OrganizationHeader } from './organization-header.tsx'
import { Passkeys } from './passkeys.tsx'

type Account = ResponseOf<'/api/v1/account'>
type OwnSession = ResponseOf<'/api/v1/account/sessions'>['sessions'][number]

const ChangePassword = () => {
  const [body, field] = useFields({ old_password: '', new_password: '', revoke_keys: false })
  return (
    <FormDialog
      title="Change password"
      verb="Change"
      act={() => writeWithoutBody(api.PUT('/api/v1/account/password', { body }))}
    >
      <TextField
        label="Current password"
        type="password"
        required
        autoComplete="current-password"
        {...field('old_password')}
      />
      <TextField
        label="New password"
        hint="At least 12 characters. Your other sessions end."
        type="password"
        required
        minLength={12}
        autoComplete="new-password"
        {...field('new_password')}
      />
      <CheckField
        label="Also revoke my personal keys; svc must then sign in again"
        checked={body.revoke_keys}
        onChange={field('revoke_keys').onChange}
      />
    </FormDialog>
  )
}

const Factors = ({ account, onDone }: { readonly account: Account; readonly onDone: () => void }) => {
  const renew = async (): Promise<void> => {
    const create = async () => unwrap(await api.POST('/api/v1/account/recovery-codes'))
    const { recovery_codes } = await changeFactors(create)
    showRecoveryCodes(recovery_codes)
    onDone()
  }
  const [isReplacing, setReplacing] = useState(false)
  const finish = (): void => {
    setReplacing(false)
    onDone()
  }
  if (!account.totp) return <TotpSetup onDone={finish} />
  if (isReplacing) {
    return (
      <>
        <p>The new app replaces the one that is set up once you have entered its code.</p>
        <TotpSetup onDone={finish} />
        <Button onClick={() => setReplacing(false)}>Cancel</Button>
      </>
    )
  }
  return (
    <>
      <p>
        An authenticator app is set up; {plural(account.recovery_codes_left, 'recovery code')}{' '}
        {account.recovery_codes_left === 1 ? 'is' : 'are'} left.
      </p>
      <ConfirmButton
        button={{ children: 'Create new recovery codes' }}
        title="Create new recovery codes?"
        verb="Create"
        tone="primary"
        act={renew}
      >
        Your current codes stop working immediately.
      </ConfirmButton>{' '}
      <Button onClick={() => setReplacing(true)}>Replace the app</Button>{' '}
      <ConfirmButton
        button={{ children: 'Remove the app', tone: 'danger' }}
        title="Remove the app?"
        verb="Remove"
        act={() => changeFactors(() => writeWithoutBody(api.DELETE('/api/v1/account/totp')))}
      >
        You no longer need its codes to sign in. Remove the entry from the app, too.
      </ConfirmButton>
    </>
  )
}

const columnsOf = (busy: boolean, onEnd: (session: OwnSession) => void): readonly Column<OwnSession>[] => [
  { name: 'Browser', cell: ({ browser }) => browser },
  { name: 'Signed in', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (session) =>
      session.current ? (
        <Quiet>this one</Quiet>
      ) : (
        <Button disabled={busy} onClick={() => onEnd(session)}>
          End
        </Button>
      ),
  },
]

const Sessions = () => {
  const query = useApi('/api/v1/account/sessions', {}, WITHOUT_EVENTS)
  const { busy, error, run } = useAction()
  const end = ({ id }: OwnSession): void => {
    const params = { path: { session_id: id } }
    run(() => writeWithoutBody(api.DELETE('/api/v1/account/sessions/{session_id}', { params })))
  }
  return (
    <Loaded query={query}>
      {({ sessions }) => (
        <Panel title="My sessions" flush>
          {error && <Problem error={error} />}
          <Table label="My sessions" columns={columnsOf(busy, end)} rows={sessions} rowKey="id" />
        </Panel>
      )}
    </Loaded>
  )
}

/** The sign-in methods of the signed-in person. */
export const AccountPage = () => {
  const session = useSession().data
  const person = session?.person
  const hasAccount = person != null
  const query = useApi('/api/v1/account', {}, { enabled: hasAccount })
  const hasFactors = query.data !== undefined && (query.data.totp || query.data.passkeys > 0)
  const isWeak = person?.mfa === false && hasFactors && query.data?.must_confirm === true
  if (!hasAccount) {
    return (
      <>
        <OrganizationHeader />
        <Panel title="My account">
          <Empty title="Nobody is signed in" command="svc team add ada@example.org --role admin">
            {session?.enrollment === 'open'
              ? 'Enrollment is open, so nobody signs in. Accounts are for a service with SERVICE_ENROLLMENT=token:'
              : 'People have accounts; keys do not. Invite yourself to the team, open the link, and sign in:'}
          </Empty>
        </Panel>
      </>
    )
  }
  return (
    <>
      <OrganizationHeader />
      <Loaded query={query}>
        {(account) => (
          <>
            <Panel title="My account">
              <Facts
                entries={[
                  ['Email', account.email],
                  ['Name', account.name ?? 'none'],
                  ['Role', account.role],
                ]}
              />
              {account.password && <DialogButton dialog={<ChangePassword />}>Change password</DialogButton>}
            </Panel>
            {isWeak ? (
              <Panel title="Second factor">
                <p>
                  This session was opened without your second factor. To change it, sign out and sign in with it, or
                  confirm with a passkey or the identity provider.
                </p>
                {(account.passkeys > 0 || account.identity_provider) && (
                  <Button onClick={askToConfirm}>Confirm it’s you to change it</Button>
                )}
              </Panel>
            ) : (
              <>
                <Panel title="Second factor">
                  <Factors account={account} onDone={() => void query.refetch()} />
                </Panel>
                <Passkeys onDone={() => void query.refetch()} />
              </>
            )}
            <Sessions />
          </>
        )}
      </Loaded>
    </>
  )
}
