import { expect, it } from 'vitest'
import { chooseVersions, latestUses, type Use } from './lineage-versions.ts'
import type { Version } from './model-records.ts'

const version = (number: number, aliases: readonly string[] = []): Version => ({
  version: number,
  version_label: `${number}.0.0`,
  format: 'onnx',
  model_size_bytes: 1,
  model_hash: 'sha256:0',
  uploaded_at: '2026-01-01T00:00:00.000Z',
  metadata: {},
  formats: [],
  trained_by: null,
  aliases: [...aliases],
})
const use = (id: string, status: string, kind: Use['kind'] = 'rollout'): Use => ({
  kind,
  id,
  name: null,
  status,
  percentage: 100,
  created_at: '2026-01-01T00:00:00.000Z',
})

it('shows the newest versions, and older ones that have an alias or that devices get', () => {
  const versions = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((number) => version(number, number === 2 ? ['production'] : []))
  const chosen = chooseVersions(versions, new Set([1, 4]))
  expect(chosen.map((one) => one.version)).toEqual([10, 9, 8, 7, 6, 4, 2, 1])
})

it('lists the plans in force first', () => {
  const uses = [use('draft', 'pending'), use('gone', 'rolled_back'), use('now', 'active'), use('all', 'completed')]
  expect(latestUses(uses).map(({ id }) => id)).toEqual(['now', 'all', 'draft', 'gone'])
  const others = [use('over', 'completed', 'experiment'), use('begun', 'started', 'deployment')]
  expect(latestUses(others).map(({ id }) => id)).toEqual(['begun', 'over'])
})
