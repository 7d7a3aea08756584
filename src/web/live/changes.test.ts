import { expect, it } from 'vitest'
import { MODEL_CHOICES } from '../api/query-keys.ts'
import { isAffected, parseChange } from './changes.ts'

const change = (kind: string) => ({ type: 'x', subject: { kind, id: '1' } })

it('a change affects the data that shows it, an unknown change affects all, and none affects the session', () => {
  expect(isAffected('/api/v1/training/jobs/{job_id}', [change('round')])).toBe(true)
  expect(isAffected('/api/v1/devices/{device_id}', [change('round')])).toBe(false)
  expect(isAffected('/api/v1/devices/{device_id}', [change('round'), change('device')])).toBe(true)
  expect(isAffected('/api/v1/device-groups/{group_id}/devices', [change('device')])).toBe(true)
  // A policy warns if its canary group was deleted.
  expect(isAffected('/api/v1/models/{model_id}/policy', [change('group')])).toBe(true)
  expect(isAffected('/api/v1/models/{model_id}', [change('group')])).toBe(false)
  expect(isAffected('/api/v1/models/{model_id}/alias-history', [change('model')])).toBe(true)
  // Each names newer plans of the others' kinds that have replaced it.
  for (const kind of ['rollout', 'deployment', 'experiment']) {
    for (const path of ['rollouts', 'deployments', 'experiments'])
      expect(isAffected(`/api/v1/${path}`, [change(kind)])).toBe(true)
  }
  expect(isAffected('/api/v1/experiments', [change('something new')])).toBe(true)
  expect(isAffected('/api/v1/session', [change('something new')])).toBe(false)
  expect(isAffected('/api/v1/status', [])).toBe(false)
  const kinds = ['model', 'round', 'rollout', 'deployment', 'experiment', 'policy', 'something new']
  expect(kinds.filter((kind) => isAffected(MODEL_CHOICES, [change(kind)]))).toEqual(['model'])
})

it('ignores invalid changes', () => {
  expect(parseChange('a', '{"subject":{"kind":"job","id":"7"},"payload":{}}')).toEqual({
    type: 'a',
    subject: { kind: 'job', id: '7' },
  })
  expect([parseChange('a', '{'), parseChange('a', 'null'), parseChange('a', '{}')]).toEqual([null, null, null])
})
