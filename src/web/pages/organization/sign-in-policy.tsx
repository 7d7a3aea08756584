import { useState } from 'react'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { NumberField, SelectField } from '../../parts/form.tsx'
import { Facts, Loaded, Panel } from '../../parts/layout.tsx'

type Policy = ResponseOf<'/api/v1/team/policy'>

const WHO = [
  ['off', 'Nobody'],
  ['admins', 'Admins'],
  ['all', 'Everybody'],
] as const satisfies readonly (readonly [Policy['require_mfa'], string])[]

const ChangePolicy = ({ policy, onClose }: { readonly policy: Policy; readonly onClose: () => void }) => {
  // What this admin leaves as it was is not sent: another one may change it meanwhile.
  const [before] = useState(policy)
  const [mfa, setMfa] = useState(policy.require_mfa)
  const [hours, setHours] = useState(policy.session_hours)
  const [minutes, setMinutes] = useState(policy.reauthenticate_minutes ?? 0)
  const reauthenticate_minutes = minutes === 0 ? null : minutes
  const body = {
    org_id: policy.org_id,
    ...(mfa !== before.require_mfa && { require_mfa: mfa }),
    ...(hours !== before.session_hours && { session_hours: hours }),
    ...(reauthenticate_minutes !== before.reauthenticate_minutes && { reauthenticate_minutes }),
  }
  return (
    <FormDialog
      title="Sign-in policy"
      verb="Change"
      act={() => write(api.PATCH('/api/v1/team/policy', { body }))}
      onClose={onClose}
    >
      <p>It applies at once, to open sessions too.</p>
      <SelectField label="Must have a second factor" value={mfa} options={WHO} onChange={setMfa} />
      <NumberField
        label="Sessions end after"
        name="session_hours"
        unit="hours"
        value={hours}
        min={1}
        max={8760}
        onChange={setHours}
      />
      <NumberField
        label="Sign in again after inactivity (0: never)"
        name="reauthenticate_minutes"
        unit="minutes"
        value={minutes}
        min={0}
        max={525600}
        onChange={setMinutes}
      />
    </FormDialog>
  )
}

/** Rules for how the organization's people sign in. */
export const SignInPolicy = () => {
  const query = useApi('/api/v1/team/policy', {}, WITHOUT_EVENTS)
  return (
    <Loaded query={query}>
      {(policy) => (
        <Panel
          title="Sign-in policy"
          aside={
            <DialogButton needs="admin" dialog={(close) => <ChangePolicy policy={policy} onClose={close} />}>
              Change sign-in policy
            </DialogButton>
          }
        >
          <Facts
            entries={[
              ['Must have a second factor', WHO.find(([value]) => value === policy.require_mfa)?.[1]],
              ['Sessions end after', `${policy.session_hours} h`],
              [
                'Sign in again',
                policy.reauthenticate_minutes
                  ? `after ${policy.reauthenticate_minutes} min of inactivity`
                  : 'not before the session ends',
              ],
            ]}
          />
        </Panel>
      )}
    </Loaded>
  )
}
