import { useState } from 'react'
import { unwrap } from '../../../client/client.ts'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { askToConfirm } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { writeWithoutAnswer } from '../../api/write.ts'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { CheckField, Fields, TextField } from '../../parts/form.tsx'
import { Button, Facts, Loaded, Panel, Problem, Quiet } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { RecoveryCodeList, TotpSetup } from '../../shell/totp-setup.tsx'
import { OrganizationHeader } from './organization-header.tsx'
import { Passkeys } from './passkeys.tsx'

type Account = AnswerOf<'/api/v1/account'>
type OwnSession = AnswerOf<'/api/v1/account/sessions'>['sessions'][number]

const ChangePassword = ({ onClose }: { readonly onClose: () => void }) => {
  const [before, setBefore] = useState('')
  const [after, setAfter] = useState('')
  const [revoke, setRevoke] = useState(false)
  const body = { old_password: before, new_password: after, revoke_keys: revoke }
  return (
    <Dialog title="Change password" open onClose={onClose}>
      <SendForm
        verb="Change"
        tone="primary"
        act={() => writeWithoutAnswer(api.PUT('/api/v1/account/password', { body }))}
        onClose={onClose}
      >
        <Fields>
          <TextField
            label="Password now"
            type="password"
            required
            autoComplete="current-password"
            value={before}
            onChange={(event) => setBefore(event.target.value)}
          />
          <TextField
            label="New password"
            hint="At least 12 characters. Your other sessions end."
            type="password"
            required
            minLength={12}
            autoComplete="new-password"
            value={after}
            onChange={(event) => setAfter(event.target.value)}
          />
          <CheckField
            label="Revoke my personal keys too; svc has to sign in again"
            checked={revoke}
            onChange={setRevoke}
          />
        </Fields>
      </SendForm>
    </Dialog>
  )
}

const Factors = ({ account, onDone }: { readonly account: Account; readonly onDone: () => void }) => {
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const run = (work: Promise<unknown>): void => {
    setError(null)
    work.catch((failure: unknown) => setError(failure instanceof Error ? failure : new Error(String(failure))))
  }
  const renew = async (): Promise<void> => {
    const { recovery_codes } = await unwrap(await api.POST('/api/v1/account/recovery-codes'))
    setCodes(recovery_codes)
  }
  if (codes !== null) {
    const done = (): void => {
      setCodes(null)
      onDone()
    }
    return <RecoveryCodeList codes={codes} onDone={done} />
  }
  if (!account.totp) return <TotpSetup onDone={onDone} />
  return (
    <>
      <p>An authenticator app is set up; {account.recovery_codes_left} recovery codes are left.</p>
      {error && <Problem error={error} />}
      <Button onClick={() => run(renew())}>Make new recovery codes</Button>{' '}
      <Button tone="danger" onClick={() => run(writeWithoutAnswer(api.DELETE('/api/v1/account/totp')))}>
        Remove the app
      </Button>
    </>
  )
}

const columnsOf = (onEnd: (session: OwnSession) => void): readonly Column<OwnSession>[] => [
  { name: 'Browser', cell: ({ browser }) => browser },
  { name: 'Signed in', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  { name: 'Last used', number: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
  {
    name: 'Actions',
    cell: (session) =>
      session.current ? <Quiet>this one</Quiet> : <Button onClick={() => onEnd(session)}>End</Button>,
  },
]

const Sessions = () => {
  const query = useApi('/api/v1/account/sessions', {})
  const end = ({ id }: OwnSession): void => {
    const params = { path: { session_id: id } }
    void writeWithoutAnswer(api.DELETE('/api/v1/account/sessions/{session_id}', { params })).catch(() =>
      query.refetch(),
    )
  }
  return (
    <Loaded query={query}>
      {({ sessions }) => (
        <Panel title="My sessions" flush>
          <Table label="My sessions" columns={columnsOf(end)} rows={sessions} rowKey={({ id }) => id} />
        </Panel>
      )}
    </Loaded>
  )
}

/** What the person who is signed in signs in with. */
export const AccountPage = () => {
  const query = useApi('/api/v1/account', {})
  const [changing, setChanging] = useState(false)
  return (
    <>
      <OrganizationHeader>{null}</OrganizationHeader>
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
              {account.password && <Button onClick={() => setChanging(true)}>Change password</Button>}
            </Panel>
            {account.must_confirm ? (
              <Panel title="Second factor">
                <Button onClick={askToConfirm}>Confirm who you are to change it</Button>
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
      {changing && <ChangePassword onClose={() => setChanging(false)} />}
    </>
  )
}
