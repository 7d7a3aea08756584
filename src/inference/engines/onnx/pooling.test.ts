import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { unitVector } from '../unit-vector.ts'
import { pool, readPooling } from './pooling.ts'

const STATES = Float32Array.of(1, 2, 3, -6, 2, 1)

test.each([
  ['cls', [1, 2]],
  ['last', [2, 1]],
  ['max', [3, 2]],
  // The sum, which has the same direction as the mean.
  ['mean', [6, -3]],
] as const)('%s pooling', (pooling, expected) => {
  expect([...pool(STATES, 2, pooling)]).toEqual(expected)
})

test('vectors are scaled to length 1, except the zero vector', () => {
  expect([...unitVector(Float32Array.of(3, 4))]).toEqual([expect.closeTo(0.6), expect.closeTo(0.8)])
  expect([...unitVector(Float32Array.of(0, 0))]).toEqual([0, 0])
  expect(() => unitVector(Float32Array.of(0, Number.NaN))).toThrow('NaN or infinite values')
})

test('the folder determines the pooling', async () => {
  const folder = await emptyFolder()
  await mkdir(join(folder, '1_Pooling'), { recursive: true })
  const reading = async (config: object, fault: 'code' | 'message' = 'code'): Promise<string> => {
    await writeFile(join(folder, '1_Pooling', 'config.json'), JSON.stringify(config))
    return readPooling(folder).catch((error) => error[fault])
  }
  expect(await readPooling(folder)).toBe('mean')
  expect(await reading({ word_embedding_dimension: 8, pooling_mode_lasttoken: true })).toBe('last')
  expect(await reading({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false })).toBe('cls')
  expect(await reading({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: true })).toBe('unsupported')
  expect(await reading({ pooling_mode_weightedmean_tokens: true })).toBe('unsupported')
  // sentence-transformers 6
  expect(await reading({ embedding_dimension: 8, pooling_mode: 'cls', include_prompt: true })).toBe('cls')
  expect(await reading({ pooling_mode: ['lasttoken'] })).toBe('last')
  expect(await reading({ pooling_mode: ['mean', 'max'] })).toBe('unsupported')
  expect(await reading({ pooling_mode: 'weightedmean' })).toBe('unsupported')
  await expect(reading({ pooling_mode: { a: 1 } }, 'message')).resolves.toContain('pools by {"a":1}, which')
  await writeFile(join(folder, 'modules.json'), JSON.stringify([{ type: 'sentence_transformers.models.Dense' }]))
  expect(await reading({})).toBe('unsupported')
})
