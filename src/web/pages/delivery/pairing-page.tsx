import { useState } from 'react'
import { Link } from 'wouter'
import { PLATFORMS } from '../../../domain/device.ts'
import { useNamedModels } from '../../api/choices.ts'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Badge, Command, type Tone, useNow } from '../../parts/cells.tsx'
import { choices, FieldRow, Fields, SelectField } from '../../parts/form.tsx'
import { Button, PageHeader, Panel, Problem, Quiet } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { ModelsNote } from '../../parts/models-note.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import { onSubmit, useAction } from '../../parts/use-action.ts'
import { duration } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import styles from './delivery.module.css'

type Pairing = ResponseOf<'/api/v1/pairings/{pairing_id}'>
interface Made {
  readonly id: string
  readonly code: string
}

const TONES: Readonly<Record<Pairing['status'], Tone>> = {
  waiting: 'busy',
  paired: 'good',
  deploying: 'busy',
  active: 'good',
  expired: 'warn',
  failed: 'bad',
}
const LIFETIME_MS = 5 * 60_000
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

const describe = ({ status, device_id, model_name, model_version, reason }: Pairing): string => {
  const what = model_name === null ? '' : `${model_name} ${model_version ?? ''}`.trim()
  switch (status) {
    case 'waiting':
      return 'Waiting for a device to enter the code.'
    case 'paired':
      return `${device_id} is paired.`
    case 'deploying':
      return `${device_id} is paired and will get ${what}.`
    case 'active':
      return `${device_id} runs ${what}.`
    default:
      return reason ?? 'It failed.'
  }
}

const Countdown = ({ expiresAt }: { readonly expiresAt: string }) => {
  const now = useNow(1000)
  const left = Math.max(0, Date.parse(expiresAt) - now.getTime())
  return <Meter label="Time left" value={left} max={LIFETIME_MS} text={`${duration(left)} left`} />
}

const Shown = ({ made, again }: { readonly made: Made; readonly again: () => void }) => {
  const query = useApi('/api/v1/pairings/{pairing_id}', { path: { pairing_id: made.id } }, { everyMs: 1000 })
  const address = `${window.location.origin}/pair?code=${made.code}`
  const pairing = query.data
  const isOpen = pairing === undefined || pairing.status === 'waiting'
  return (
    <Panel title="Pairing code">
      <div className={styles.pairing}>
        <div className={isOpen ? '' : styles.used}>
          <QrCode text={address} label={`QR code that opens ${address}`} />
        </div>
        <Fields>
          <p className={styles.code}>{made.code}</p>
          {pairing && (
            <p role="status">
              <Badge state={pairing.status} tone={TONES[pairing.status]} /> {describe(pairing)}
            </p>
          )}
          {isOpen && pairing && <Countdown expiresAt={pairing.expires_at} />}
          {isOpen && (
            <>
              <p>
                Scan the QR code with the phone’s camera, or enter the code in the app. On a computer, start the agent:
              </p>
              <Command>{`svc agent --join ${made.code}@${window.location.origin}`}</Command>
            </>
          )}
          {isOpen && LOOPBACK.test(window.location.hostname) && (
            <p>
              <Quiet>
                This page was opened at {window.location.host}, which a phone cannot reach: open the dashboard at this
                machine’s network name and create a code there.
              </Quiet>
            </p>
          )}
          <p>
            {!isOpen && pairing?.device_id != null && (
              <Link href={deviceHref(pairing.device_id, pairing.org_id)}>The device’s page</Link>
            )}{' '}
            <Button onClick={again}>Create another code</Button>
          </p>
        </Fields>
      </div>
    </Panel>
  )
}

/** Adds one device, by a code shown on this screen. */
export const PairingPage = () => {
  const choicesOfModels = useNamedModels()
  const [model, setModel] = useState('')
  const [platform, setPlatform] = useState<(typeof PLATFORMS)[number] | ''>('')
  const [made, setMade] = useState<Made | null>(null)
  const { busy, error, run } = useAction()
  const create = async (): Promise<void> => {
    const orgId = choicesOfModels.models.find(({ id }) => id === model)?.org_id ?? null
    const body = {
      ...(model !== '' && { model_name: model }),
      // The device must be of the model's organization.
      ...(orgId !== null && { org_id: orgId }),
      ...(platform !== '' && { platform }),
    }
    const { pairing_id, code } = await write(api.POST('/api/v1/pairings', { body }))
    setMade({ id: pairing_id, code })
  }
  return (
    <>
      <PageHeader title="Pairing" />
      {made !== null ? (
        <Shown key={made.id} made={made} again={() => setMade(null)} />
      ) : (
        <Panel title="Pair a device">
          <form onSubmit={onSubmit(() => run(create))}>
            <Fields>
              <p>
                A code registers one device without a key and can send it a model at once. It expires after five
                minutes.
              </p>
              <FieldRow>
                <SelectField
                  label="Model to send"
                  value={model}
                  options={[['', 'No model'], ...choicesOfModels.options]}
                  onChange={setModel}
                />
                <SelectField
                  label="Allowed platform"
                  value={platform}
                  options={choices('Any platform', PLATFORMS)}
                  onChange={setPlatform}
                />
              </FieldRow>
              <ModelsNote choices={choicesOfModels} />
              {error && <Problem error={error} />}
              <p>
                <Button type="submit" tone="primary" needs="devices:write" disabled={busy}>
                  Create a code
                </Button>
              </p>
            </Fields>
          </form>
        </Panel>
      )}
    </>
  )
}
