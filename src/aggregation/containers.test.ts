import { readdirSync, readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readWeights } from '../tensors/read-weights.ts'
import { bytesSource } from '../tensors/sources.ts'
import type { DType } from '../tensors/weight-file.ts'
import { aggregateFiles } from './aggregate-files.ts'
import type { AggregationJob } from './aggregation-messages.ts'
import { decode, encode, meanOf } from './kernel-oracle.fixture.ts'
import { deflatedNpz, jobOf, npy, temporaryFolder, tensor, valuesIn } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  files = temporaryFolder()
})
afterEach(() => files.remove())

const aggregate = (updates: AggregationJob['updates'], globalPath: string | null = null) =>
  aggregateFiles(jobOf({ globalPath, updates, outputPath: files.path('out') }))

/**
 * Written by PyTorch 2.13: {model_state_dict, optimizer, epoch}; `conv.weight` is channels_last, `lin.weight` a transposed
 * view, `lin.bias` bfloat16, and `head.weight` the same tensor as `emb.weight` (but a copy in untied_b).
 */
const checkpoint = (name: string): string => new URL(`fixtures/${name}.pt`, import.meta.url).pathname

const DTYPES: Readonly<Record<string, DType>> = { 'lin.bias': 'bf16', steps: 'i64' }

/** The weighted mean of the two checkpoints, element by element, rounded to their types. */
const meanCheckpoint = (weightOfA: number, weightOfB: number): Record<string, unknown> => {
  const a = valuesIn(checkpoint('tied_a'))
  const b = valuesIn(checkpoint('tied_b'))
  return Object.fromEntries(
    Object.keys(a).map((name) => {
      const dtype = DTYPES[name] ?? 'f32'
      return [
        name,
        decode(dtype, meanOf(dtype, [encode(dtype, a[name]!), encode(dtype, b[name]!)], [weightOfA, weightOfB])),
      ]
    }),
  )
}

describe('a PyTorch checkpoint with views', () => {
  it('receives new values in its strided and tied tensors and keeps everything else', async () => {
    await aggregate([
      { id: 'a', path: checkpoint('tied_a'), numSamples: 1 },
      { id: 'b', path: checkpoint('tied_b'), numSamples: 3 },
    ])
    expect(valuesIn(files.path('out'))).toEqual(meanCheckpoint(1, 3))
    expect(readdirSync(files.folder)).toEqual(['out'])
  })

  it('differs from its template only in tensor bytes and their checksums', async () => {
    await aggregate([{ id: 'b', path: checkpoint('tied_b'), numSamples: 3 }], checkpoint('tied_a'))
    const template = readFileSync(checkpoint('tied_a'))
    const output = readFileSync(files.path('out'))
    const { members } = readWeights(bytesSource(template))
    const places = members.flatMap(({ dataOffset, size, crcOffsets }) => [
      [dataOffset, dataOffset + size],
      ...crcOffsets.map((offset) => [offset, offset + 4]),
    ])
    const changed = [...output.keys()].filter((at) => output[at] !== template[at])
    expect(output.length).toBe(template.length)
    expect(changed.length).toBeGreaterThan(0)
    expect(changed.filter((at) => !places.some(([start, end]) => at >= start! && at < end!))).toEqual([])
    for (const { dataOffset, size, crcOffsets } of members)
      for (const offset of crcOffsets)
        expect(output.readUInt32LE(offset)).toBe(crc32(output.subarray(dataOffset, dataOffset + size)))
  })

  it('accepts copies of tied tensors that hold the same values', async () => {
    const updates = ['tied_b', 'untied_b'].map((name) => ({ id: name, path: checkpoint(name), numSamples: 1 }))
    await aggregate(updates, checkpoint('tied_a'))
    expect(valuesIn(files.path('out'))).toEqual(valuesIn(checkpoint('tied_b')))
  })

  it('refuses different values for tied tensors, which its file cannot hold', async () => {
    const values = valuesIn(checkpoint('tied_a'))
    const shapes = { 'emb.weight': [5, 3], 'conv.weight': [2, 3, 2, 2], 'lin.weight': [6, 4], 'head.weight': [5, 3] }
    const update = files.safetensors('untied', [
      ...Object.entries(shapes).map(([name, shape]) => {
        const list = values[name]!.map((value, i) => (name === 'head.weight' && i === 4 ? 9 : Number(value)))
        return tensor(name, 'f32', list, shape)
      }),
      tensor('lin.bias', 'bf16', values['lin.bias']!),
      tensor('steps', 'i64', [1n], []),
    ])
    await expect(aggregate([{ id: 'a', path: update, numSamples: 1 }], checkpoint('tied_a'))).rejects.toMatchObject({
      code: 'conflict',
      message:
        'Tensors "emb.weight" and "head.weight" share one storage in the model, ' +
        'but the updates give them different values. Train them as one tensor.',
    })
  })
})

describe('NumPy archives', () => {
  // The same 2 x 3 matrix: row-major, column-major, and big-endian.
  const rows = [1, 2, 3, 4, 5, 6]
  const columns = [1, 4, 2, 5, 3, 6]
  const bigEndian = (values: readonly number[]) => new Uint8Array(Buffer.from(encode('f32', values)).swap32())
  const matrices = {
    plain: npy('<f4', [2, 3], encode('f32', rows)),
    fortran: npy('<f4', [2, 3], encode('f32', columns), true),
    big: npy('>f4', [2, 3], bigEndian(rows)),
  }

  it.each(Object.keys(matrices) as (keyof typeof matrices)[])(
    'are matched by index in any array order: a %s template, compressed and plain updates',
    async (kind) => {
      const updates = Object.values(matrices).flatMap((bytes, k) => [
        { id: `deflated-${k}`, path: files.write(`d${k}`, deflatedNpz({ m: bytes })), numSamples: 2 },
        { id: `plain-${k}`, path: files.npz(`p${k}`, [tensor('m', 'f32', rows, [2, 3])]), numSamples: 5 },
      ])
      const template = files.write('template', deflatedNpz({ m: matrices[kind] }))
      expect((await aggregate(updates, template)).format).toBe('npz')
      expect(valuesIn(files.path('out'))).toEqual({ m: rows })
    },
  )

  it('keep their array order if they are not compressed', async () => {
    const path = (name: string, values: readonly number[]) =>
      files.write(name, npy('<f4', [2, 3], encode('f32', values), true))
    const updates = [
      { id: 'a', path: path('a', columns), numSamples: 1 },
      {
        id: 'b',
        path: path(
          'b',
          columns.map((value) => value + 2),
        ),
        numSamples: 1,
      },
    ]
    expect((await aggregate(updates)).format).toBe('npy')
    expect(readFileSync(files.path('out'))).toEqual(
      readFileSync(
        path(
          'wanted',
          columns.map((value) => value + 1),
        ),
      ),
    )
  })

  it('are written uncompressed if they were compressed', async () => {
    const path = (name: string, value: number) =>
      files.write(name, deflatedNpz({ w: npy('<f8', [40_000], encode('f64', new Array(40_000).fill(value))) }))
    await aggregate([
      { id: 'a', path: path('a', 1), numSamples: 1 },
      { id: 'b', path: path('b', 5), numSamples: 3 },
    ])
    const requested = readFileSync(files.npz('wanted', [tensor('w', 'f64', new Array(40_000).fill(4))]))
    expect(readFileSync(files.path('out')).equals(requested)).toBe(true)
    expect(readdirSync(files.folder).sort()).toEqual(['a', 'b', 'out', 'wanted'])
  })

  it('are refused if their compressed bytes are damaged', async () => {
    const noise = Array.from({ length: 5000 }, (_, i) => Math.sin(i * i))
    const archive = deflatedNpz({ w: npy('<f4', [5000], encode('f32', noise)) })
    const good = files.write('good', archive)
    const damaged = files.write('bad', archive.with(9000, archive[9000]! ^ 0xff).fill(0xff, 9001, 9400))
    await expect(
      aggregate([
        { id: 'a', path: good, numSamples: 1 },
        { id: 'b', path: damaged, numSamples: 1 },
      ]),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^The update of device 'b' cannot be combined with the others\. Array "w" (cannot be inflated|does not inflate)/,
      ),
    })
    expect(readdirSync(files.folder).sort()).toEqual(['bad', 'good'])
  })
})
