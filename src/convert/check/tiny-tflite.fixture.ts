import { writeTflite } from '../to-tflite/tflite-file.ts'

const CUSTOM = 32
const FULLY_CONNECTED = 9

/** `y = relu(x W + b)` for x of [1, 4] and y of [1, 3], as FULLY_CONNECTED, followed by the custom operator if one is named. */
export const tinyTflite = (custom: string | null = null): Uint8Array => {
  const shapes: readonly (readonly [number[], number])[] = [
    [[1, 4], 0],
    [[3, 4], 1],
    [[3], 2],
    [[1, 3], 0],
    [[1, 3], 0],
  ]
  const [codes, operators] = [
    [{ deprecatedBuiltinCode: FULLY_CONNECTED }, { deprecatedBuiltinCode: CUSTOM, customCode: custom ?? '' }],
    [
      { opcodeIndex: 0, inputs: [0, 1, 2], outputs: [3] },
      { opcodeIndex: 1, inputs: [3], outputs: [4] },
    ],
  ]
  const count = custom === null ? 1 : 2
  return writeTflite({
    version: 3,
    operatorCodes: codes.slice(0, count),
    buffers: [{}, { data: new Uint8Array(48) }, { data: new Uint8Array(12) }],
    subgraphs: [
      {
        tensors: shapes.map(([shape, buffer]) => ({ shape, buffer })),
        inputs: [0],
        outputs: [2 + count],
        operators: operators.slice(0, count),
      },
    ],
  })
}
