import { homedir } from 'node:os'
import { join } from 'node:path'
import { engineState } from './installed-engine.ts'
import { LITERT, ONNXRUNTIME, type OptionalEngine } from './optional-engine.ts'

const folder = process.env.TRIBUTARY_TEST_ENGINES ?? join(homedir(), '.svc', 'engines')
const has = async (part: OptionalEngine): Promise<boolean> => (await engineState(part, folder)).state === 'installed'

/** The optional engines that tests may use; null if onnxruntime is not installed. */
export const testEngines: string | null = (await has(ONNXRUNTIME)) ? folder : null

/** The reason for skipping a test. */
export const WITHOUT = 'onnxruntime is not installed: svc engines install onnxruntime'

/** Like `testEngines`, but also requires LiteRT, which is compared with onnxruntime. */
export const tfliteEngines: string | null = (await has(LITERT)) ? testEngines : null

export const WITHOUT_LITERT = 'onnxruntime or LiteRT is not installed: svc engines install litert'
