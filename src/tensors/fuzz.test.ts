import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { frameworkFiles, frameworkPath } from '../../test/fixtures/frameworks/open.ts'
import { fixtureBytes, fixtureNames } from '../../test/fixtures/weights/open.ts'
import { randomFrom } from '../../test/random.ts'
import { ServiceError } from '../domain/errors.ts'
import { detectFormat, isWeightFormat } from './detect.ts'
import { readTensorBytes } from './elements.ts'
import { canPatch, seal, writeTensorBytes } from './patch.ts'
import { readWeights, requireSound } from './read-weights.ts'
import { bytesSource, copyOf, viewOf } from './sources.ts'
import { byteLength } from './weight-file.ts'
import { readTrees, treeLayoutOf, treesDiffer, writeTrees } from './xgboost-trees.ts'

const MUTATIONS = 3300
/** Bytes that are significant to parsers: pickle opcodes, JSON brackets, extreme numbers. */
const TELLING = [0, 1, 0x7f, 0x80, 0xff, 0x28, 0x2e, 0x63, 0x52, 0x74, 0x75, 0x68, 0x5d, 0x7d, 0x22, 0x5b]

/** False values for length fields. */
const LIES = [0, 1, 0x7f, 0xff, 0xffff, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]

const withLength = (bytes: Uint8Array, at: number, length: number): Uint8Array => {
  const copy = copyOf(bytes)
  if (at + 4 <= copy.length) viewOf(copy).setUint32(at, length, true)
  return copy
}

const mutate = (bytes: Uint8Array, random: (below: number) => number): Uint8Array => {
  const at = random(bytes.length)
  const length = random(40)
  const other = random(bytes.length)
  const mutations = [
    () => bytes.with(at, random(256)),
    () => bytes.with(at, bytes[at]! ^ (1 << random(8))),
    () => bytes.with(at, TELLING[random(TELLING.length)]!),
    () => new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(at + length)]),
    () => new Uint8Array([...bytes.subarray(0, at), ...bytes.subarray(other, other + length), ...bytes.subarray(at)]),
    () => bytes.map((byte, i) => (i >= at && i < at + 8 ? 0xff : byte)),
    () => bytes.subarray(0, at),
    () => withLength(bytes, at, LIES[random(LIES.length)]!),
  ]
  return mutations[random(mutations.length)]!()
}

/** Everything done with an upload: detects and reads it, reads every element, and if possible patches it and reads it again. */
const handle = (bytes: Uint8Array): 'read' | 'refused' => {
  const target = bytesSource(bytes)
  try {
    const format = detectFormat(target)
    if (format !== null && !isWeightFormat(format)) {
      requireSound(target, format)
      if (format === 'xgboost-json' || format === 'xgboost-ubj') {
        const model = readTrees(target)
        const again = readTrees(bytesSource(writeTrees(model, [])))
        expect(treesDiffer(treeLayoutOf(model), treeLayoutOf(again))).toBeNull()
      }
      return 'read'
    }
    const file = readWeights(target, { rawVector: true })
    const small = file.tensors.filter((tensor) => (tensor.deflated?.size ?? byteLength(tensor)) < 2 ** 20)
    for (const tensor of small) readTensorBytes(target, tensor)
    if (canPatch(file)) {
      for (const tensor of small) writeTensorBytes(target, tensor, new Uint8Array(byteLength(tensor)))
      seal(target, file)
      expect(readWeights(target, { rawVector: true })).toEqual(file)
    }
    return 'read'
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request' && error.cause === undefined) return 'refused'
    throw error
  }
}

it(`reads or refuses ${MUTATIONS} damaged files, and never fails in any other way`, () => {
  const random = randomFrom(20_260_101)
  const files = [
    ...fixtureNames().map((name) => ({ name, bytes: fixtureBytes(name) })),
    ...frameworkFiles().map((name) => ({ name, bytes: new Uint8Array(readFileSync(frameworkPath(name))) })),
  ]
  const outcomes = { read: 0, refused: 0 }
  for (let n = 0; n < MUTATIONS; n++) {
    const { name, bytes } = files[n % files.length]!
    let damaged: Uint8Array = bytes
    for (let times = 1 + random(3); times > 0 && damaged.length > 0; times--) damaged = mutate(damaged, random)
    try {
      outcomes[handle(damaged)]++
    } catch (cause) {
      throw new Error(`Mutation ${n} of ${name} failed otherwise.`, { cause })
    }
  }
  expect(outcomes.read + outcomes.refused).toBe(MUTATIONS)
  // Damage to elements leaves the container valid.
  expect(outcomes.read).toBeGreaterThan(MUTATIONS / 20)
  expect(outcomes.refused).toBeGreaterThan(MUTATIONS / 2)
})
