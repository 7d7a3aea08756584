import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Dialog, SendForm } from '../../parts/dialog.tsx'
import { Fields, NumberField, SelectField } from '../../parts/form.tsx'
import { Button, Facts, Loaded, Panel } from '../../parts/layout.tsx'

type Policy = AnswerOf<'/api/v1/team/policy'>

const WHO = [
  ['off', 'Nobody'],
  ['admins', 'Admins'],
  ['all', 'Everybody'],
] as const satisfies readonly (readonly [Policy['require_mfa'], string])[]

const ChangePolicy = ({ policy, onClose }: { readonly policy: Policy; readonly onClose: () => void }) => {
  const [mfa, setMfa] = useState(policy.require_mfa)
  const [hours, setHours] = useState(policy.session_hours)
  const [minutes, setMinutes] = useState(policy.reauthenticate_minutes ?? 0)
  const reauthenticate_minutes = minutes === 0 ? null : minutes
  const body = { org_id: policy.org_id, require_mfa: mfa, session_hours: hours, reauthenticate_minutes }
  return (
    <Dialog title="Sign-in policy" open onClose={onClose}>
      <SendForm
        verb="Change"
        tone="primary"
        act={() => write(api.PATCH('/api/v1/team/policy', { body }))}
        onClose={onClose}
      >
        <p>It holds at once, for open sessions too.</p>
        <Fields>
          <SelectField label="Must have a second factor" value={mfa} options={WHO} onChange={setMfa} />
          <NumberField label="Sessions end after" unit="hours" value={hours} min={1} max={8760} onChange={setHours} />
          <NumberField
            label="Without use, ask again after (0: never)"
            unit="minutes"
            value={minutes}
            min={0}
            max={525600}
            onChange={setMinutes}
          />
        </Fields>
      </SendForm>
    </Dialog>
  )
}

/** How the people of the organization sign in. */
export const SignInPolicy = () => {
  const query = useApi('/api/v1/team/policy', {})
  const [changing, setChanging] = useState(false)
  return (
    <Loaded query={query}>
      {(policy) => (
        <Panel title="Sign-in policy">
          <Facts
            entries={[
              ['Must have a second factor', WHO.find(([value]) => value === policy.require_mfa)?.[1]],
              ['Sessions end after', `${policy.session_hours} h`],
              [
                'Ask again after',
                policy.reauthenticate_minutes ? `${policy.reauthenticate_minutes} min without use` : 'never',
              ],
            ]}
          />
          <Button onClick={() => setChanging(true)}>Change sign-in policy</Button>
          {changing && <ChangePolicy policy={policy} onClose={() => setChanging(false)} />}
        </Panel>
      )}
    </Loaded>
  )
}
