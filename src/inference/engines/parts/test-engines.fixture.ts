import { homedir } from 'node:os'
import { join } from 'node:path'
import { partState } from './installed-part.ts'
import { ONNXRUNTIME } from './part.ts'

const folder = process.env.TRIBUTARY_TEST_ENGINES ?? join(homedir(), '.svc', 'engines')
const found = await partState(ONNXRUNTIME, folder)

/** Where the optional parts are that tests may use; null where onnxruntime is not installed. */
export const testEngines: string | null = found.state === 'installed' ? folder : null

/** Of a test that is left out for it. */
export const WITHOUT = 'onnxruntime is not installed: svc engines install onnxruntime'
