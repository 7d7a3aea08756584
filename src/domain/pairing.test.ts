import { expect, it } from 'vitest'
import { composeCode, displayCode, type PairedDelivery, pairingAt, typedCode } from './pairing.ts'

const now = new Date('2026-01-01T00:00:00Z')
const kept = (status: 'waiting' | 'paired' | 'failed', reason: string | null = null, expiresInMs = 1) => ({
  status,
  reason,
  expiresAt: new Date(now.getTime() + expiresInMs),
})

it('a code has eight unambiguous, equally likely characters, and is accepted however it is typed', () => {
  const bytes = Uint8Array.from([0, 29, 30, 239, 240, 255, 1, 2, 3, 4])
  const code = composeCode(() => bytes)
  expect([code, displayCode(code)]).toEqual(['2Z2Z3456', '2Z2Z-3456'])
  expect(
    ['2z2z-3456', ' 2Z2Z 3456 ', '2Z2Z3456', '2Z2Z345', '2Z2Z34567', '2Z2Z345O', ''].map((text) => typedCode(text)),
  ).toEqual([code, code, code, null, null, null, null])
})

it('a code waits until it expires, and then gives the reason', () => {
  expect([pairingAt(kept('waiting'), null, now), pairingAt(kept('waiting', null, 0), null, now)]).toEqual([
    { status: 'waiting', reason: null },
    { status: 'expired', reason: 'The code was not used within 5 minutes.' },
  ])
})

it('a paired device has the status of its deployment', () => {
  const at = (
    deployment: PairedDelivery['deployment'],
    device: PairedDelivery['device'],
    deviceReason: string | null = null,
    deploymentReason: string | null = null,
  ) => pairingAt(kept('paired', null, 0), { deployment, device, deviceReason, deploymentReason }, now)
  expect([
    pairingAt(kept('paired'), null, now),
    at('started', null),
    at('started', 'verifying'),
    at('started', 'active'),
    at('completed', 'active'),
    at('started', 'failed', 'no room'),
    at('failed', null, null, 'At the deadline, 0 of 1 activated devices had succeeded.'),
    at('rolled_back', 'active'),
    pairingAt(kept('failed', 'There is no device to deploy to.'), null, now),
  ]).toEqual([
    { status: 'paired', reason: null },
    { status: 'deploying', reason: null },
    { status: 'deploying', reason: null },
    { status: 'active', reason: null },
    { status: 'active', reason: null },
    { status: 'failed', reason: 'no room' },
    { status: 'failed', reason: 'At the deadline, 0 of 1 activated devices had succeeded.' },
    { status: 'failed', reason: 'The deployment was rolled back.' },
    { status: 'failed', reason: 'There is no device to deploy to.' },
  ])
})
