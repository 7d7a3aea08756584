import { useMemo, useState } from 'react'
import { MAX_ROUNDS } from '../../../domain/privacy/planning.ts'
import { shellWord } from '../../../domain/shell-word.ts'
import { api, write } from '../../api/client.ts'
import { useApi, useApiAll } from '../../api/use-api.ts'
import { Curve } from '../../parts/curve.tsx'
import { DialogButton, FormDialog } from '../../parts/dialog.tsx'
import { FieldRow, NumberField, Outcome, useFields } from '../../parts/form.tsx'
import { Empty, Facts, Loaded, Panel, Problem } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { count, measure, plural } from '../../text/format.ts'
import { type Budget, type Federation, OTHERS, type Spending } from './federation-records.ts'
import styles from './federations.module.css'
import { burnDown, forecastSteps } from './forecast.ts'
import { useRole } from './role.ts'

const MAX_ROWS = 200
const STANDARD = { noise: 1.1, rate: 0.1 }

const SetBudget = ({ federation, budget }: { readonly federation: Federation; readonly budget: Budget }) => {
  const [body, field] = useFields({
    total_epsilon_budget: budget.is_set ? budget.total_epsilon_budget : 3,
    total_delta_budget: budget.total_delta_budget,
  })
  const params = { path: { federation_id: federation.id } }
  return (
    <FormDialog
      title="Set the privacy budget"
      verb="Set budget"
      act={() => write(api.PUT('/api/v1/federations/{federation_id}/privacy/budget', { params, body }))}
    >
      <FieldRow>
        <NumberField label="Epsilon" min={0} step="any" {...field('total_epsilon_budget')} />
        <NumberField label="Delta" min={0} max={1} step="any" {...field('total_delta_budget')} />
      </FieldRow>
      <Outcome>
        {body.total_epsilon_budget < budget.epsilon_committed
          ? `ε ${measure(budget.epsilon_committed)} is already spent or reserved: no more private rounds can start.`
          : `All private rounds of ${plural(federation.member_count, 'member')} together may spend this much. Spent privacy budget is never restored.`}
      </Outcome>
    </FormDialog>
  )
}

/** Forecasts the epsilon spent by further rounds of one kind. The service computes it for a few numbers of rounds. */
const useForecast = (federationId: string, noise: number, rate: number, isSet: boolean) => {
  const path = { federation_id: federationId }
  const round = { noise_multiplier: noise, sample_rate: rate }
  const isValid = noise > 0 && rate > 0 && rate <= 1
  const left = useApi(
    '/api/v1/federations/{federation_id}/privacy/rounds-left',
    { path, query: round },
    { enabled: isSet && isValid },
  )
  const steps = isSet && isValid ? forecastSteps(left.data?.rounds_left ?? 0) : []
  const estimates = useApiAll(
    '/api/v1/federations/{federation_id}/privacy/estimate',
    steps.map((num_steps) => ({ path, query: { ...round, num_steps } })),
  )
  return {
    isValid,
    // `data` may be of the previous input.
    roundsLeft: isValid && !left.isPlaceholderData ? (left.data?.rounds_left ?? null) : null,
    error: isValid ? left.error : null,
    projections: steps.map((rounds, index) => ({ rounds, epsilon: estimates[index]?.data?.projected_epsilon ?? null })),
  }
}

const INVALID = 'The noise multiplier must be above 0, and the sample rate above 0 and at most 1.'

const describe = (roundsLeft: number | null): string => {
  if (roundsLeft === null) return ''
  if (roundsLeft === 0) return 'The budget does not allow such a round.'
  const rounds = plural(roundsLeft, 'more round')
  return `${roundsLeft >= MAX_ROUNDS ? `At least ${rounds}` : rounds} like this ${roundsLeft === 1 ? 'fits' : 'fit'} the budget.`
}

interface BurnDownProps {
  readonly federation: Federation
  readonly budget: Budget
  readonly history: readonly Spending[]
  /** The number of rounds before `history`. */
  readonly before: number
}

const BurnDown = ({ federation, budget, history, before }: BurnDownProps) => {
  const latest = history.at(-1)
  const [noise, setNoise] = useState(latest?.noise_multiplier ?? STANDARD.noise)
  const [rate, setRate] = useState(latest?.sample_rate ?? STANDARD.rate)
  const { isValid, roundsLeft, projections, error } = useForecast(federation.id, noise, rate, budget.is_set)
  const key = JSON.stringify(projections)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `projections` is a new array each time; `key` is its content
  const series = useMemo(
    () => burnDown(budget.total_epsilon_budget, history, before, projections),
    [budget, history, before, key],
  )
  return (
    <>
      <Curve title="Epsilon left" x="private round" series={series} />
      <div className={styles.forecast}>
        <NumberField label="Noise multiplier" min={0} step="any" value={noise} onChange={setNoise} />
        <NumberField label="Sample rate" min={0} max={1} step="any" value={rate} onChange={setRate} />
        <p role="status">{isValid ? describe(roundsLeft) : INVALID}</p>
      </div>
      {error && <Problem error={error} />}
    </>
  )
}

const Spent = ({ budget }: { readonly budget: Budget }) => (
  <>
    <Meter
      label="Privacy budget"
      value={budget.epsilon_committed}
      max={budget.total_epsilon_budget}
      text={`ε ${measure(budget.current_epsilon_spent)} of ${measure(budget.total_epsilon_budget)} spent`}
      tone={budget.is_exhausted ? 'bad' : 'busy'}
    />
    <Facts
      entries={[
        ['Epsilon left', measure(budget.epsilon_remaining)],
        ['Reserved by rounds in progress', measure(budget.epsilon_committed - budget.current_epsilon_spent)],
        ['Delta', measure(budget.total_delta_budget)],
        ['Private rounds', count(budget.rounds_tracked)],
        ['Accountant', budget.accountant === 'pld' ? 'privacy loss distribution' : 'Rényi'],
      ]}
    />
  </>
)

/** The budget shared by all private rounds, how it burns down, and how long it will last. */
export const PrivacyPanel = ({ federation }: { readonly federation: Federation }) => {
  const { isOwner } = useRole(federation)
  const path = { federation_id: federation.id }
  const budget = useApi('/api/v1/federations/{federation_id}/privacy', { path }, OTHERS)
  const current = budget.data
  const rounds = current?.rounds_tracked ?? 0
  const offset = Math.max(0, rounds - MAX_ROWS)
  const history = useApi(
    '/api/v1/federations/{federation_id}/privacy/history',
    { path, query: { limit: MAX_ROWS, offset } },
    { enabled: current !== undefined },
  )
  return (
    <Panel
      title="Privacy budget"
      aside={
        isOwner &&
        current && (
          <DialogButton needs="training:write" dialog={<SetBudget federation={federation} budget={current} />}>
            Set budget
          </DialogButton>
        )
      }
    >
      <Loaded query={budget}>
        {(data) =>
          data.is_set ? (
            <div className={styles.privacy}>
              <Spent budget={data} />
              <Loaded query={history}>
                {(found) => <BurnDown federation={federation} budget={data} history={found.history} before={offset} />}
              </Loaded>
            </div>
          ) : (
            <Empty title="No budget is set" command={`svc federation budget ${shellWord(federation.name)} --epsilon 3`}>
              Private rounds need one. The owner sets it here, or with:
            </Empty>
          )
        }
      </Loaded>
    </Panel>
  )
}
