import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { READABLE_EXTENSIONS } from '../tensors/detect.ts'
import type { Layout } from '../tensors/layout.ts'
import { inspectFile } from './inspect.ts'
import { encode } from './kernel-oracle.fixture.ts'
import { deflatedNpz, FIXTURES, npy, temporaryFolder, tensor } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
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
  it('reports its format and its layout in file order', async () => {
    const path = files.torch('u', [tensor('w', 'f32', [1, 2, 3, 4], [2, 2]), tensor('n', 'i64', [7n], [])])
    const inspection = { format: 'torch-zip', rawVector: false, layout, warning: null }
    expect(await inspectFile(path, { expected: null, rawVectors: 'none' })).toEqual(inspection)
    expect(await inspectFile(path, { expected: [...layout].reverse(), rawVectors: 'none' })).toEqual(inspection)
  })

  it('refuses another layout, naming the first difference', async () => {
    const path = files.npz('u', [tensor('w', 'f32', [1, 2, 3, 4], [4]), tensor('n', 'i64', [7n], [])])
    await expect(inspectFile(path, { expected: layout, rawVectors: 'none' })).rejects.toMatchObject(
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
  ] as const)('refuses a .%s with a value of %d, naming the tensor and element', async (kind, value) => {
    const values = Array.from({ length: 70_000 }, (_, i) => (i === 69_998 ? value : i))
    const path = files[kind]('u', [tensor('fine', 'f32', [1]), tensor('b.weight', 'f32', values)])
    await expect(inspectFile(path, { expected: null, rawVectors: 'none' })).rejects.toMatchObject(
      refusal(
        'Tensor "b.weight" contains NaN or infinity at element 69998. ' +
          'Training has diverged: lower the learning rate, or leave this update out.',
      ),
    )
    await expect(inspectFile(path, { expected: null, rawVectors: 'none', isModel: true })).rejects.toMatchObject(
      refusal(
        'Tensor "b.weight" contains NaN or infinity at element 69998. ' +
          'Use a version of the model that has only finite values, or upload one.',
      ),
    )
  })

  it('also checks compressed, column-major, and big-endian arrays, and counts elements in row-major order', async () => {
    const values = [1, 2, 3, 4, 5, 6]
    const big = new Uint8Array(Buffer.from(encode('f32', values.with(4, Number.NaN))).swap32())
    const arrays = {
      deflated: deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values.with(4, Number.NaN))) }),
      fortran: deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values.with(3, Number.NaN)), true) }),
      big: deflatedNpz({ m: npy('>f4', [2, 3], big) }),
    }
    for (const [name, bytes] of Object.entries(arrays))
      await expect(inspectFile(files.write(name, bytes), { expected: null, rawVectors: 'none' })).rejects.toMatchObject(
        refusal(/^Tensor "m" contains NaN or infinity at element 4\./),
      )
    expect(readdirSync(files.folder).sort()).toEqual(['big', 'deflated', 'fortran'])
    const fine = files.write('fine', deflatedNpz({ m: npy('<f4', [2, 3], encode('f32', values), true) }))
    expect(await inspectFile(fine, { expected: null, rawVectors: 'none' })).toEqual({
      format: 'npz',
      rawVector: false,
      layout: [{ name: 'm', dtype: 'f32', shape: [2, 3] }],
      warning: null,
    })
  })

  it('refuses a truncated file and a pickle that would run code, with or without an expected layout', async () => {
    for (const name of ['net_truncated.pt', 'evil.pt', 'evil.pkl'])
      for (const expected of [null, layout])
        await expect(inspectFile(`${FIXTURES}weights/${name}`, { expected, rawVectors: 'none' })).rejects.toMatchObject(
          refusal(/./),
        )
  })

  it('accepts content that is not weights if no layout is expected and refuses it otherwise', async () => {
    for (const [bytes, title] of [
      [Uint8Array.of(1, 2, 3), 'unknown binary content'],
      [encode('f32', [Number.NaN, 1]), 'unknown binary content'],
      [Buffer.from('epoch,loss\n1,0.5\n'), 'CSV text'],
      [Buffer.from('GGUF\x03\0\0\0'), 'a GGUF file'],
    ] as const) {
      const path = files.write('bytes', bytes)
      const { layout: found, rawVector, warning } = await inspectFile(path, { expected: null, rawVectors: 'plausible' })
      expect({ found, rawVector }).toEqual({ found: null, rawVector: false })
      expect(warning).toMatch(new RegExp(`^The file is ${title}.*; it is kept, but never averaged with others\\. `))
      await expect(inspectFile(path, { expected: layout, rawVectors: 'none' })).rejects.toMatchObject(
        refusal(
          `The update is ${title}, but the round's model has 2 named tensors. ` +
            `Send them as ${READABLE_EXTENSIONS}.`,
        ),
      )
    }
  })

  it('refuses an archive or a pickle with false lengths, even as opaque bytes', async () => {
    for (const bytes of [
      Buffer.from('PK\x05\x06\0\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0', 'latin1'),
      Buffer.from('\x80\x04\x95\xff\0\0\0\0\0\0\0}\x94.', 'latin1'),
      Buffer.from('\x80\x04\x95\x05\0\0\0\0\0\0\0}\x94', 'latin1'),
    ])
      for (const rawVectors of ['plausible', 'declared'] as const)
        await expect(inspectFile(files.write('bytes', bytes), { expected: null, rawVectors })).rejects.toMatchObject(
          refusal(/./),
        )
  })
})

describe('a bare vector', () => {
  const vector = [{ name: 'vector', dtype: 'f32', shape: [2000] }]
  const values = (outside: number, value: number) =>
    files.write(
      'v',
      encode(
        'f32',
        Array.from({ length: 2000 }, (_, i) => (i < outside ? value : (i % 7) - 3)),
      ),
    )
  const inspect = (path: string, rawVectors: 'declared' | 'plausible' | 'none') =>
    inspectFile(path, { expected: null, rawVectors })

  it('is accepted with a warning if at most 1 in 1,000 of its values is implausible', async () => {
    for (const value of [9e-21, -1.01e9, 1e-44, 3e38]) {
      expect(await inspect(values(2, value), 'plausible')).toEqual({
        format: null,
        rawVector: true,
        layout: vector,
        warning:
          'The file was taken for a raw vector of 2000 float32 values. To confirm, start the round or job with raw_vector: true, ' +
          'or end the file name in .f32.',
      })
      expect(await inspect(values(3, value), 'plausible')).toMatchObject({
        rawVector: false,
        layout: null,
        warning: expect.stringContaining('3 of 2000 values lie outside 1e-20 to 1000000000 in magnitude'),
      })
    }
    for (const value of [0, -0, 1.01e-20, -9.9e8])
      expect(await inspect(values(2000, value), 'plausible')).toMatchObject({ rawVector: true })
  })

  it('is not accepted if a single value is not finite or if it was not declared', async () => {
    for (const value of [Number.NaN, Number.NEGATIVE_INFINITY])
      expect(await inspect(values(1, value), 'plausible')).toMatchObject({ rawVector: false, layout: null })
    expect(await inspect(values(0, 0), 'none')).toMatchObject({ rawVector: false, layout: null })
  })

  it('may hold any finite values if declared, and may look like text while it is short', async () => {
    expect(await inspect(values(2000, 1e38), 'declared')).toEqual({
      format: null,
      rawVector: true,
      layout: vector,
      warning: null,
    })
    // The bytes of 12.575 are '33IA'.
    const letters = (count: number) =>
      files.write(
        'l',
        encode(
          'f32',
          Array.from({ length: count }, () => 12.575),
        ),
      )
    expect(await inspect(letters(16), 'declared')).toMatchObject({ format: 'text', rawVector: true })
    await expect(inspect(letters(17), 'declared')).rejects.toMatchObject(
      refusal(
        'A raw float32 vector was declared (raw_vector, or a file name ending in .f32), but the file is text. ' +
          'Send little-endian float32 values and nothing else.',
      ),
    )
  })

  it('must be finite and a multiple of 4 bytes long if declared', async () => {
    await expect(inspect(values(1, Number.NaN), 'declared')).rejects.toMatchObject(
      refusal(/NaN or infinity at element 0/),
    )
    await expect(inspect(files.write('odd', Uint8Array.of(1, 2, 3)), 'declared')).rejects.toMatchObject(
      refusal(/its 3 bytes are not a float32 vector/),
    )
    await expect(
      inspectFile(values(0, 0), { expected: [{ ...vector[0]!, dtype: 'f32', shape: [3] }], rawVectors: 'declared' }),
    ).rejects.toMatchObject(refusal(/tensor "vector" has shape \[2000\], expected \[3\]/))
  })
})
