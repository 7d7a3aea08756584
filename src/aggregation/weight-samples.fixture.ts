import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zipSync } from 'fflate'
import type { TensorData } from '../tensors/container-plan.ts'
import { readTensorBytes } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import type { DType } from '../tensors/weight-file.ts'
import { writeNpz } from '../tensors/write-npz.ts'
import { writeSafetensors } from '../tensors/write-safetensors.ts'
import { writeTorch } from '../tensors/write-torch.ts'
import type { AggregationJob } from './aggregation-messages.ts'
import { openFile } from './files.ts'
import { decode, encode } from './kernel-oracle.fixture.ts'

/** Weight files for the tests in this folder. */

export const FIXTURES = new URL('../../test/fixtures/', import.meta.url).pathname

export const tensor = (
  name: string,
  dtype: DType,
  values: readonly (number | bigint)[],
  shape: readonly number[] = [values.length],
): TensorData => ({ name, dtype, shape, data: encode(dtype, values) })

/** A folder that `using` or afterEach removes, with writers for each container. */
export const temporaryFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'aggregation-'))
  const write = (name: string, bytes: Uint8Array): string => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return path
  }
  return {
    folder,
    path: (name: string): string => join(folder, name),
    write,
    safetensors: (name: string, tensors: readonly TensorData[]): string => write(name, writeSafetensors(tensors)),
    torch: (name: string, tensors: readonly TensorData[]): string => write(name, writeTorch(tensors)),
    npz: (name: string, tensors: readonly TensorData[]): string => write(name, writeNpz(tensors)),
    raw: (name: string, values: readonly number[]): string => write(name, encode('f32', values)),
    remove: (): void => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A .npy array as numpy.save writes it, optionally column-major or big-endian. */
export const npy = (descr: string, shape: readonly number[], data: Uint8Array, fortranOrder = false): Uint8Array => {
  const dict = `{'descr': '${descr}', 'fortran_order': ${fortranOrder ? 'True' : 'False'}, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`
  const text = `${dict.padEnd(Math.ceil((dict.length + 11) / 64) * 64 - 11)}\n`
  const head = Uint8Array.from([0x93, ...[...'NUMPY'].map((char) => char.charCodeAt(0)), 1, 0, text.length, 0])
  return Uint8Array.from([...head, ...new TextEncoder().encode(text), ...data])
}

/** numpy.savez_compressed */
export const deflatedNpz = (arrays: Readonly<Record<string, Uint8Array>>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(arrays).map(([name, bytes]) => [`${name}.npy`, bytes])), { level: 6 })

/** Decodes every tensor of a file, by name. */
export const valuesIn = (path: string): Record<string, (number | bigint)[]> => {
  const file = openFile(path, 'r')
  try {
    return Object.fromEntries(
      readWeights(file, { rawVector: true }).tensors.map((each) => [
        each.name,
        decode(each.dtype, readTensorBytes(file, each)),
      ]),
    )
  } finally {
    file.close()
  }
}

/** A job of plain averaging, modified by `parts`. */
export const jobOf = (
  parts: Pick<AggregationJob, 'updates' | 'outputPath'> & Partial<AggregationJob>,
): AggregationJob => ({
  strategy: { name: 'fedavg', options: {} },
  globalPath: null,
  statePath: null,
  stateOutputPath: null,
  controlOutputPath: null,
  population: null,
  privacy: null,
  ...parts,
})
