import { expect, it } from 'vitest'
import { chooseVersions, type Use } from './lineage-versions.ts'
import type { Version } from './model-records.ts'

const version = (number: number, aliases: readonly string[] = []): Version => ({
  version: number,
  version_label: `${number}.0.0`,
  format: 'onnx',
  model_size_bytes: 1,
  model_hash: 'sha256:0',
  uploaded_at: '2026-01-01T00:00:00.000Z',
  formats: [],
  trained_by: null,
  aliases: [...aliases],
})
const use = (of: string, inForce: boolean, key = of): Use => ({
  key,
  version: of,
  href: '/',
  state: inForce ? 'active' : 'rolled_back',
  inForce,
  text: '',
})
const shown = (versions: readonly Version[], uses: readonly Use[]) =>
  chooseVersions(versions, uses).map(({ version: { version: number }, uses: of }) => [number, of.map(({ key }) => key)])

it('shows the newest versions, and older ones that have an alias or are in use', () => {
  const versions = [9, 8, 7, 6, 5, 4, 3, 2, 1].map((number) => version(number, number === 2 ? ['production'] : []))
  expect(shown(versions, [use('1.0.0', true), use('3.0.0', false)])).toEqual([
    [9, []],
    [8, []],
    [7, []],
    [6, []],
    [5, []],
    [2, []],
    [1, ['1.0.0']],
  ])
})

it('matches a use to its version by label or number, and lists those in force first', () => {
  const uses = [use('2', false, 'ended'), use('2.0.0', true, 'now'), use('20', true, 'other')]
  expect(shown([version(2), version(1)], uses)).toEqual([
    [2, ['now', 'ended']],
    [1, []],
  ])
})
