import { useState } from 'react'
import { api, write } from '../../api/client.ts'
import { FieldRow, SelectField, Suggestions, TextField } from '../../parts/form.tsx'
import { Button, Panel, Problem } from '../../parts/layout.tsx'
import { onSubmit, useAction } from '../../parts/use-action.ts'
import type { Federation } from './federation-records.ts'
import styles from './federations.module.css'
import type { GroupNames } from './use-group-names.ts'

const KINDS = [
  ['descriptive', 'Describe each group'],
  ['t-test', 'Compare two groups'],
  ['anova', 'Compare all groups'],
  ['chi-square', 'Test two variables for independence'],
] as const
type Kind = (typeof KINDS)[number][0]

const GROUPINGS = [
  ['federation_member', 'Members'],
  ['device_group', 'Device groups'],
] as const

const VARIABLES = ['local_loss', 'local_accuracy', 'num_samples', 'training_time_seconds', 'platform', 'status']
const SUGGESTED = 'analytics-variables'

interface AnalyticsFormProps {
  readonly federation: Federation
  readonly names: GroupNames
  readonly onResult: (queryId: string) => void
}

/** Runs a query over the reports of the members' devices. */
export const AnalyticsForm = ({ federation, names, onResult }: AnalyticsFormProps) => {
  const [kind, setKind] = useState<Kind>('descriptive')
  const [variable, setVariable] = useState('local_accuracy')
  const [second, setSecond] = useState('status')
  const [groupBy, setGroupBy] = useState<(typeof GROUPINGS)[number][0]>('federation_member')
  const [pair, setPair] = useState<readonly [string, string]>(['', ''])
  const { busy, error, run } = useAction()
  const options =
    groupBy === 'federation_member' ? names.members.map((name) => [name, name] as const) : [...names.groups]
  const [a, b] = [pair[0] || (options[0]?.[0] ?? ''), pair[1] || (options[1]?.[0] ?? '')]
  const params = { params: { path: { federation_id: federation.id } } }
  const send = () => {
    const grouped = { variable, group_by: groupBy }
    const at = '/api/v1/federations/{federation_id}/analytics'
    switch (kind) {
      case 'descriptive':
      case 'anova':
        return write(api.POST(`${at}/${kind}`, { ...params, body: grouped }))
      case 't-test':
        return write(api.POST(`${at}/t-test`, { ...params, body: { ...grouped, group_a: a, group_b: b } }))
      case 'chi-square':
        return write(api.POST(`${at}/chi-square`, { ...params, body: { variable_1: variable, variable_2: second } }))
    }
  }
  return (
    <Panel title="New query" aside="over devices of active members; groups of fewer than five are withheld">
      <form className={styles.query} onSubmit={onSubmit(() => run(async () => onResult((await send()).query_id)))}>
        <FieldRow>
          <SelectField label="Query" value={kind} options={KINDS} onChange={setKind} />
          <TextField
            label={kind === 'chi-square' ? 'First variable' : 'Variable'}
            required
            maxLength={200}
            list={SUGGESTED}
            value={variable}
            onChange={setVariable}
          />
          {kind === 'chi-square' ? (
            <TextField
              label="Second variable"
              required
              maxLength={200}
              list={SUGGESTED}
              value={second}
              onChange={setSecond}
            />
          ) : (
            <SelectField label="Groups" value={groupBy} options={GROUPINGS} onChange={setGroupBy} />
          )}
          {kind === 't-test' && (
            <>
              <SelectField label="Group" value={a} options={options} onChange={(group) => setPair([group, b])} />
              <SelectField label="Against" value={b} options={options} onChange={(group) => setPair([a, group])} />
            </>
          )}
          <div>
            <Button type="submit" tone="primary" disabled={busy || (kind === 't-test' && options.length < 2)}>
              Run query
            </Button>
          </div>
        </FieldRow>
        <Suggestions id={SUGGESTED} values={VARIABLES} />
        {error && <Problem error={error} />}
      </form>
    </Panel>
  )
}
