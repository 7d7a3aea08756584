import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { putDouble } from '../../../test/fixtures/engines/put-double.ts'
import { InferenceError } from '../errors.ts'
import type { ModelFile, ModelFormat } from '../models/model-file.ts'
import { chooseEngine } from './choose-engine.ts'
import { allEngines } from './installed-engines.ts'
import { LLAMA_VERSION, llamaBuild } from './optional/optional-engine.ts'

const LINUX = { os: 'linux', arch: 'x64' } as const
const MAC = { os: 'darwin', arch: 'arm64' } as const

const model = (format: ModelFormat): ModelFile => ({
  name: 'm',
  variant: null,
  path: '/models/m',
  format,
  bytes: 1,
  sha256: null,
  source: 'path',
})

const ask = async (
  format: ModelFormat,
  requested: string,
  PATH: string,
  platform: typeof LINUX | typeof MAC = LINUX,
) => {
  const error = await chooseEngine({ model: model(format), requested, platform, env: { PATH } }).catch(
    (e: unknown) => e,
  )
  return error instanceof InferenceError ? [error.code, error.message] : error
}

it('auto chooses the engine that reads the file, and gives the reason', async () => {
  const folder = await emptyFolder()
  for (const program of ['mlx_lm.server', 'mlc_llm', 'mnncli']) await putDouble(folder, program)
  expect([
    await ask('gguf', 'auto', ''),
    await ask('mlx', 'auto', folder, MAC),
    await ask('mlx', 'auto', folder, LINUX),
    await ask('mlc', 'auto', folder),
    await ask('mnn', 'mnn', folder),
    await ask('gguf', 'llama.cpp', ''),
  ]).toEqual([
    { name: 'llama.cpp', reason: 'm is a GGUF file, which llama.cpp runs' },
    { name: 'mlx-lm', reason: 'm is a folder of safetensors for MLX, which mlx-lm runs' },
    { name: 'mlx-lm', reason: 'm is a folder of safetensors for MLX, which mlx-lm runs' },
    { name: 'mlc-llm', reason: 'm is a folder compiled by MLC, which mlc-llm runs' },
    { name: 'mnn', reason: 'requested' },
    { name: 'llama.cpp', reason: 'requested' },
  ])
})

it('an error about a missing engine includes its install command', async () => {
  const what = '/models/m is a folder of safetensors for MLX, which mlx-lm runs, but mlx-lm is not installed.'
  expect([await ask('mlx', 'auto', '', MAC), await ask('mlx', 'mlx-lm', '')]).toEqual([
    ['engine_missing', `${what} Install it: pip install mlx-lm`],
    [
      'engine_missing',
      `${what} Install it: pip install mlx-lm. It is made for Apple silicon, and this machine is linux on x64: a GGUF model would run here.`,
    ],
  ])
})

it('an engine that does not exist or cannot run the file is refused', async () => {
  expect([await ask('gguf', 'mlx-lm', ''), await ask('gguf', 'tensorrt', '')]).toEqual([
    [
      'unsupported',
      'mlx-lm cannot run /models/m: it is a GGUF file, which llama.cpp runs. Use --engine llama.cpp, or auto.',
    ],
    [
      'unsupported',
      "There is no engine 'tensorrt'. Use llama.cpp, onnxruntime, mlx-lm, mlc-llm, mnn, vllm, or an address such as http://127.0.0.1:8000/v1; auto chooses an engine.",
    ],
  ])
})

it('every engine is listed with its location or its install command', async () => {
  const folder = await emptyFolder()
  await putDouble(folder, 'mnncli')
  const engines = await allEngines({ PATH: folder })
  expect(engines.filter(({ name }) => name !== 'onnxruntime')).toEqual([
    {
      name: 'llama.cpp',
      installed: true,
      where: llamaBuild(),
      install: `npm install ${llamaBuild()}@${LLAMA_VERSION}`,
      experimental: false,
    },
    { name: 'mlx-lm', installed: false, where: null, install: 'pip install mlx-lm', experimental: true },
    {
      name: 'mlc-llm',
      installed: false,
      where: null,
      install: 'see https://llm.mlc.ai/docs/install/mlc_llm.html',
      experimental: true,
    },
    {
      name: 'mnn',
      installed: true,
      where: `${folder}/mnncli`,
      install: 'see https://github.com/alibaba/MNN/tree/master/apps/mnncli',
      experimental: true,
    },
    { name: 'vllm', installed: false, where: null, install: 'pip install vllm', experimental: true },
  ])
})
