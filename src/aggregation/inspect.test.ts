import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Layout } from '../tensors/layout.ts'
import { inspectFile } from './inspect.ts'
import { encode } from './kernel-oracle.fixture.ts'
import { deflatedNpz, FIXTURES, npy, temporaryFolder, tensor } from './weight-samples.fixture.ts'

let files = temporaryFolder()
beforeEach(() => {
  files.remove()
  files = temporaryFolder()
})
afterEach(() => files.remove())

const layout: Layout = [
  { name: 'w', dtype: 'f32', shape: [2, 2] },
  { name: 'n', dtype: 'i64', shape: [] },
]

const refusal = (message: string | RegExp) => ({
  code: 'bad_request',
  message: typeof message === 'string' ? message : expect.stringMatching(message),
})

describe('inspecting an upload', () => {
  it('tells its container and layout, in the order of the file', async () => {
    const path = files.torch('u', [tensor('w', 'f32', [1, 2, 3, 4], [2, 2]), tensor('n', 'i64', [7n], [])])
    const inspection = { format: 'torch-zip', layout }
    expect(await inspectFile(path, { expected: null })).toEqual(inspection)
    expect(await inspectFile(path, { expected: [...layout].reverse() })).toEqual(inspection)
  })

  it('refuses another layout, naming the first difference', async () => {
    const path = files.npz('u', [tensor('w', 'f32', [1, 2, 3, 4], [4]), tensor('n', 'i64', [7n], [])])
    await expect(inspectFile(path, { expected: layout })).rejects.toMatchObject(
      refusal(
        'The update does not match the model of the round: tensor "w" has shape [4], expected [2, 2]. ' +
          'Send weights of the same model.',
      ),
    )
  })

  it.each([
    ['safetensors', Number.NaN],
    ['torch', Number.POSITIVE_INFINITY],
    ['npz', Number.NEGATIVE_INFINITY],
  ] as const)('refuses a .%s that is not finite, naming tensor and element, expected or not', async (kind, value) => {
    const values = Array.from({ length: 70_000 }, (_, i) => (i === 69_998 ? value : i))
    const path = files[kind]('u', [tensor('fine', 'f32', [1]), tensor('b.weight', 'f32', values)])
    await expect(inspectFile(path, { expected: null })).rejects.toMatchObject(
      refusal(
        'Tensor "b.weight" holds NaN or infinity at element 69998. ' +
          'Training has diverged: lower the learning rate, or leave this update out.',
      ),
    )
  })

  it('looks into compressed, column-major and big-endian arrays too, and counts elements by rows', async () => {
    const values = [1, 2, 3, 4, 5, 6]
    const big = new Uint8Array(Buffer.from(encode('f32', values.with(4, Number.NaN))).swap32())
    const arrays = {
      deflated: deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values.with(4, Number.NaN))) }),
      fortran: deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values.with(3, Number.NaN)), true) }),
      big: deflatedNpz({ m: npy('>f4', [2, 3], big) }),
    }
    for (const [name, bytes] of Object.entries(arrays))
      await expect(inspectFile(files.write(name, bytes), { expected: null })).rejects.toMatchObject(
        refusal(/^Tensor "m" holds NaN or infinity at element 4\./),
      )
    expect(readdirSync(files.folder).sort()).toEqual(['big', 'deflated', 'fortran'])
    const fine = files.write('fine', deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values), true) }))
    expect(await inspectFile(fine, { expected: null })).toEqual({
      format: 'npz',
      layout: [{ name: 'm', dtype: 'f32', shape: [2, 3] }],
    })
  })

  it('refuses a truncated file and a pickle that would run code, expected or not', async () => {
    for (const name of ['net_truncated.pt', 'evil.pt', 'evil.pkl'])
      for (const expected of [null, layout])
        await expect(inspectFile(`${FIXTURES}weights/${name}`, { expected })).rejects.toMatchObject(refusal(/./))
  })

  it('takes bytes in no known container as they are where nothing is expected, and refuses them where it is', async () => {
    for (const bytes of [Uint8Array.of(1, 2, 3), encode('f32', [Number.NaN, 1])]) {
      const path = files.write('bytes', bytes)
      expect(await inspectFile(path, { expected: null })).toEqual({ format: 'raw', layout: null })
      await expect(inspectFile(path, { expected: layout })).rejects.toMatchObject(
        refusal(
          "The update is no weight file that we know, but the round's model has 2 named tensors. " +
            'Send them as .safetensors, .pt or .pth, .npz or .npy.',
        ),
      )
    }
  })
})
