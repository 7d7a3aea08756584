import { useState } from 'react'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { NumberField, SelectField, useFields } from '../../parts/form.tsx'
import { Facts, Loaded, Panel } from '../../parts/layout.tsx'

type Policy = ResponseOf<'/api/v1/team/policy'>

const WHO = [
  ['off', 'Nobody'],
  ['admins', 'Admins'],
  ['all', 'Everybody'],
] as const satisfies readonly (readonly [Policy['require_mfa'], string])[]

const ChangePolicy = ({ policy }: { readonly policy: Policy }) => {
  // What this admin leaves as it was is not sent: another one may change it meanwhile.
  const [before] = useState(policy)
  const [{ require_mfa, session_hours, ...values }, field] = useFields({
    require_mfa: policy.require_mfa,
    session_hours: policy.session_hours,
    reauthenticate_minutes: policy.reauthenticate_minutes ?? 0,
  })
  const reauthenticate_minutes = values.reauthenticate_minutes === 0 ? null : values.reauthenticate_minutes
  const body = {
    org_id: policy.org_id,
    ...(require_mfa !== before.require_mfa && { require_mfa }),
    ...(session_hours !== before.session_hours && { session_hours }),
    ...(reauthenticate_minutes !== before.reauthenticate_minutes && { reauthenticate_minutes }),
  }
  return (
    <FormDialog title="Sign-in policy" verb="Change" act={() => write(api.PATCH('/api/v1/team/policy', { body }))}>
      <p>It applies at once, to open sessions too.</p>
      <SelectField label="Must have a second factor" options={WHO} {...field('require_mfa')} />
      <NumberField label="Sessions end after" unit="hours" min={1} max={8760} {...field('session_hours')} />
      <NumberField
        label="Sign in again after inactivity (0: never)"
        unit="minutes"
        min={0}
        max={525600}
        {...field('reauthenticate_minutes')}
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
            <DialogButton needs="admin" dialog={<ChangePolicy policy={policy} />}>
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
